"""`ethereal studio` opens the page on a folder."""

from __future__ import annotations

import json
import socket
import ssl
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from ethereal.base.messages import say
from ethereal.cli import app
from ethereal.cli.errors import reported

Folder = Annotated[Path, typer.Argument(help="Folder of tables and runs. Default: this one.")]


@app.command()
def studio(
    folder: Folder = Path(),
    port: Annotated[int, typer.Option(help="Port of the page. 0 takes a free one.")] = 0,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    host: Annotated[
        str | None, typer.Option(help="Name or address by which other computers reach it.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="With --host: certificate, a PEM file.")] = None,
    key: Annotated[Path | None, typer.Option(help="With --host: its private key, a PEM file.")] = None,
) -> None:
    """Open a page on this computer to look at tables, start runs, and compare them.

    The page shows the tables of a folder, and starts `ethereal run` in it. Runs go on when the page or this
    command ends. Only this computer can open the page, with the address that is shown. With --host others
    can, over an encrypted connection, if they have that address.
    """
    with reported():
        from ethereal.base.atomic import check_folder, only_one, write_text

        try:
            import starlette
            import uvicorn
        except ImportError as error:
            raise ValueError(
                f"the studio needs {error.name}, which is not installed. Install it with "
                "pip install 'ethereal-tm[studio]'"
            ) from error
        del starlette
        from ethereal.studio.project import Project
        from ethereal.studio.server import Studio, application

        secured = _secured(host, certificate, key)
        project = Project(check_folder(folder).resolve())
        if not project.folder.is_dir():
            raise ValueError(f"{folder} is not a folder. Make it, or name the one with your tables")
        project.hidden.mkdir(exist_ok=True)
        kept = project.hidden / "address"
        try:
            with only_one(project.hidden / "lock", wait=False):
                listening = socket.create_server((host or "127.0.0.1", port))
                served = Studio(project, listening.getsockname()[1], host or "")
                write_text(kept, json.dumps(served.address))
                kept.chmod(0o600)  # who can read the address can use the page
                say(f"studio of {project.folder}\n  {served.address}\nCtrl-C ends it. Runs go on.")
                if open_page:
                    webbrowser.open(served.address)
                settings = uvicorn.Config(
                    application(served), log_level="warning", access_log=False, server_header=False,
                    timeout_graceful_shutdown=2, **secured,
                )  # fmt: skip
                try:
                    uvicorn.Server(settings).run(sockets=[listening])
                finally:
                    kept.unlink(missing_ok=True)
        except BlockingIOError:
            where = json.loads(kept.read_text()) if kept.exists() else "another terminal"
            raise ValueError(f"a studio of {project.folder} is open already, in {where}") from None


def _secured(host: str | None, certificate: Path | None, key: Path | None) -> dict[str, Any]:
    """Return what encrypts the connection, nothing on this computer alone."""
    if host is None:
        if certificate is not None or key is not None:
            raise ValueError("--certificate and --key go with --host, the name that other computers use")
        return {}
    if host in ("", "0.0.0.0", "::", "*"):
        raise ValueError(f"--host is {host!r}. Give the name or address by which others reach this computer")
    if certificate is None or key is None:
        raise ValueError(
            "--host opens the studio to other computers, which needs an encrypted connection. Give "
            "--certificate and --key, two PEM files"
        )
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise ValueError(f"{certificate} and {key} are not a certificate and its key: {error}") from error
    return {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)}
