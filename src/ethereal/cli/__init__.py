"""The command `ethereal`: one module per subcommand, each registers itself on `app` when it is imported.

To add a command, write `cli/NAME.py` with a function decorated by `@app.command()` and name it in
`ethereal.cli.commands.COMMANDS`. A command of another package is an `ethereal.base.package.AddedCommand` in
the entry points `ethereal.commands`. A command is imported when it is called, so that help and mistakes are
shown at once.
"""

from typing import Annotated

import typer

from ethereal.cli.commands import Commands, Root

app = Commands(
    cls=Root,
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
