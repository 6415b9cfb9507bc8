"""The command `ethereal`: one module per subcommand, each registers itself on `app`.

To add a command, write `cli/NAME.py` with a function decorated by `@app.command()` and name the module below.
"""

from typing import Annotated

import typer

from ethereal.cli.commands import Commands

app = Commands(
    help="Train Tsetlin machines, compress them, and put them on microcontrollers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"ethereal {version('ethereal-tm')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Train Tsetlin machines, compress them, and put them on microcontrollers."""


# The commands register themselves on import.
from ethereal.cli import adapt as adapt  # noqa: E402
from ethereal.cli import benchmark as benchmark  # noqa: E402
from ethereal.cli import capture as capture  # noqa: E402
from ethereal.cli import convert as convert  # noqa: E402
from ethereal.cli import datasets as datasets  # noqa: E402
from ethereal.cli import deploy as deploy  # noqa: E402
from ethereal.cli import explain as explain  # noqa: E402
from ethereal.cli import export as export  # noqa: E402
from ethereal.cli import inspect as inspect  # noqa: E402
from ethereal.cli import measure as measure  # noqa: E402
from ethereal.cli import predict as predict  # noqa: E402
from ethereal.cli import prove as prove  # noqa: E402
from ethereal.cli import prune as prune  # noqa: E402
from ethereal.cli import run as run  # noqa: E402
from ethereal.cli import study as study  # noqa: E402
from ethereal.cli import train as train  # noqa: E402
from ethereal.cli import tune as tune  # noqa: E402
