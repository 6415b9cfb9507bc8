"""The local server behind the page. It refuses whoever does not have the token of this studio.

Only loopback is served, and only under its own names, so that no page from elsewhere reaches it by a name
that leads here. Every request carries the token. There are no cookies.
"""

from __future__ import annotations

import json
import secrets
import shlex
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from ethereal.base.atomic import open_atomically
from ethereal.base.checks import DoesNotFit
from ethereal.chips.boards import BOARDS
from ethereal.chips.targets import TARGETS, target_of
from ethereal.export.c99.ctext import read
from ethereal.model import Model
from ethereal.runs.options import NormalSettings, Settings
from ethereal.runs.reuse import same_training
from ethereal.studio import jobs, recordings
from ethereal.studio.project import MOST_UPLOAD, Project, Refused, Summaries
from ethereal.studio.tables import Tables

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_MOST_ASKED = 64 << 10  # bytes of a question in JSON
# What the page may ask `ethereal run` for, by the names of its options, and the kind of each.
_ASKED: dict[str, type | tuple[type, ...]] = {
    "label": str, "group": str, "drop": list, "flash": str, "ram": str, "instructions": str, "target": str,
    "balanced": bool, "quick": bool, "unknown": bool, "seed": int, "window": int, "hop": int,
    "rate": (int, float), "test": (int, float), "header": bool, "encoding": str, "decimal": str,
    "task": str, "normal": bool, "abnormal": str, "false_alarms": (int, float),
}  # fmt: skip
_SCRIPTS = ("base.js", "data.js", "recordings.js", "goal.js", "runs.js", "start.js")
_PAGE_POLICY = (
    "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}' 'wasm-unsafe-eval'; "
    "connect-src 'self'; "
    "frame-src 'self'; media-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# A report has names of other people's tables in it. It runs by itself and reaches nothing.
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline' 'wasm-unsafe-eval' blob: data:; img-src data: blob:; worker-src blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@dataclass
class Studio:
    """A project with the address under which it is served."""

    project: Project
    port: int
    host: str = ""  # under which other computers reach it, with a certificate
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    tables: Tables = field(default_factory=Tables)
    summaries: Summaries = field(default_factory=Summaries)
    listener: recordings.Listener = field(init=False)

    def __post_init__(self) -> None:
        """Be ready to listen to a board."""
        self.listener = recordings.Listener(self.project)

    @property
    def address(self) -> str:
        """What is opened in a browser."""
        where = f"https://{self.host}" if self.host else "http://127.0.0.1"
        return f"{where}:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> set[str]:
        """Names by which the page is reached."""
        names = {self.host.lower()} if self.host else {"127.0.0.1", "localhost"}
        usual = names if self.host and self.port == 443 else set()  # the port that browsers leave out
        return {f"{name}:{self.port}" for name in names} | usual

    @property
    def jobs(self) -> Path:
        """The folder of the runs that were started here."""
        return self.project.hidden / "jobs"

    def settings(self, asked: dict[str, Any]) -> Settings | NormalSettings:
        """Return what a run is asked for. Whatever it cannot be raises ValueError."""
        if set(asked) - {"source", *_ASKED}:
            raise Refused(f"{sorted(set(asked) - {'source', *_ASKED})[0]!r} is not an option of this page.")
        for name, value in asked.items():
            wanted = str if name == "source" else _ASKED[name]
            if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
                raise Refused(f"{name} is {value!r}, which is of the wrong kind.")
        if any(not isinstance(one, str) for one in asked.get("drop", ())):
            raise Refused("drop must be a list of names of columns.")
        given = {name: value for name, value in asked.items() if name != "source" and value not in ("", [])}
        path = self._there(asked.get("source", ""))
        if not given.pop("normal", False):
            return Settings.of(str(path), given)
        if "abnormal" in given:
            given["abnormal"] = str(self._there(given["abnormal"]))
        return NormalSettings.of(str(path), given)

    def _there(self, name: str) -> Path:
        path = self.project.inside(name)
        if not path.exists():
            raise Refused(f"{name!r} is not there any more.")
        return path

    def words(self, settings: Settings | NormalSettings) -> list[str]:
        """Return the command as it is typed in the project's folder."""
        return settings.words(self.project.folder.resolve())


def application(studio: Studio) -> ASGIApp:
    """Return the server of a studio."""
    routes = [
        Route("/", _page(studio)),
        Route("/api/project", _answers(studio, _project)),
        Route("/api/table", _answers(studio, _table)),
        Route("/api/histogram", _answers(studio, _histogram)),
        Route("/api/points", _answers(studio, _points)),
        Route("/api/recordings", _answers(studio, _recordings)),
        Route("/api/signal", _answers(studio, _signal)),
        Route("/api/answers", _answers(studio, _answered)),
        Route("/api/heard", _answers(studio, _heard)),
        Route("/api/listen", _answers(studio, _listen), methods=["POST"]),
        Route("/api/unlisten", _answers(studio, _unlisten), methods=["POST"]),
        Route("/api/cut", _answers(studio, _cut), methods=["POST"]),
        Route("/api/split", _answers(studio, _split), methods=["POST"]),
        Route("/api/command", _answers(studio, _command), methods=["POST"]),
        Route("/api/runs", _answers(studio, _runs)),
        Route("/api/start", _answers(studio, _start), methods=["POST"]),
        Route("/api/cancel", _answers(studio, _cancel), methods=["POST"]),
        Route("/api/upload", _upload(studio), methods=["POST"]),
        Route("/sound/{name:path}", _sound(studio)),
        Route("/api/example", _answers(studio, _example), methods=["POST"]),
        Route("/api/live", _answers(studio, _live)),
        Route("/runs/{name}/report.html", _report(studio)),
        Route("/runs/{name}/live.html", _live_page(studio)),
        Route("/runs/{name}/{part}.zip", _zip(studio)),
    ]
    return _Guard(Starlette(routes=routes), studio)


def _import() -> None:
    """Import what reads tables and runs while the browser shows the page, so that the first is as quick."""
    import pyarrow.compute
    import pyarrow.csv

    from ethereal.runs import pipeline, run

    del pyarrow, pipeline, run


class _Guard:
    """Lets nobody in without the token, under another name, or from another page."""

    def __init__(self, app: ASGIApp, studio: Studio) -> None:
        self._app, self._studio = app, studio

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a web socket, which nobody here opens
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope)
        if (why := self._refusal(request)) is not None:
            await _trouble(why, 403)(scope, receive, send)
            return

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                added = {
                    b"cache-control": b"no-store",
                    b"x-content-type-options": b"nosniff",
                    b"referrer-policy": b"no-referrer",
                    b"cross-origin-resource-policy": b"same-origin",
                }
                known = {name.lower() for name, _ in message["headers"]}
                message["headers"] += [pair for pair in added.items() if pair[0] not in known]
            await send(message)

        await self._app(scope, receive, guarded)

    def _refusal(self, request: Request) -> str | None:
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._studio.hosts:
            return "This studio answers under its own address only. Open the one that the terminal shows."
        origin = request.headers.get("origin")
        # A report in its frame has no origin of its own, and asks for nothing.
        wanted = "https" if self._studio.host else "http"
        given = urlsplit(origin or "")
        is_ours = given.scheme == wanted and given.netloc.lower() in self._studio.hosts
        if (origin is not None and not is_ours) or (origin is None and request.method not in ("GET", "HEAD")):
            return "This request comes from another page."
        token = request.headers.get("x-ethereal-token") or request.query_params.get("token") or ""
        if not secrets.compare_digest(token.encode(), self._studio.token.encode()):
            return "The token of this studio is missing or wrong. Open the address that the terminal shows."
        return None


def _trouble(text: str, status: int = 400) -> JSONResponse:
    return JSONResponse({"trouble": text}, status)


Handler = Callable[[Request], Awaitable[Response]]
Answer = Callable[[Studio, dict[str, Any]], Any]


def _answers(studio: Studio, answer: Answer) -> Handler:
    """Return a handler that gives a function the words of a question, and its answer as JSON."""

    async def handler(request: Request) -> Response:
        try:
            asked = await _asked(request)
            return JSONResponse(await run_in_threadpool(answer, studio, asked))
        except (DoesNotFit, ValueError, TypeError, KeyError, OSError, RecursionError) as error:
            return _trouble(_said(error))

    return handler


def _said(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"the question lacks {error}."
    if isinstance(error, OSError):
        return f"{Path(str(error.filename or 'the folder')).name}: {error.strerror or error}"
    return str(error)


async def _asked(request: Request) -> dict[str, Any]:
    if request.method == "GET":
        return {name: value for name, value in request.query_params.items() if name != "token"}
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_ASKED:
            raise Refused("The question is too long.")
    asked = json.loads(body)
    if not isinstance(asked, dict):
        raise Refused("A question is an object in JSON.")
    return asked


def _page(studio: Studio) -> Handler:
    async def handler(request: Request) -> Response:
        threading.Thread(target=_import, daemon=True).start()
        folder, nonce = files("ethereal.studio") / "page", secrets.token_urlsafe(16)
        page = (folder / "studio.html").read_text("utf-8").replace("@nonce@", nonce)
        style = read("page/page.css") + (folder / "studio.css").read_text("utf-8")
        # The model that runs in an exported page runs here too.
        script = read("page/live.js") + read("page/board.js")
        script += "".join((folder / name).read_text("utf-8") for name in _SCRIPTS)
        page = page.replace("/* style */", style).replace("/* script */", script)
        return HTMLResponse(page, headers={"content-security-policy": _PAGE_POLICY.format(nonce=nonce)})

    return handler


def _project(studio: Studio, asked: dict[str, Any]) -> Any:
    boards = [(board.about, target_of(board)) for board in BOARDS.values()]
    cores = [("", core) for core in TARGETS.values()]
    targets = [
        {
            "name": one.name, "about": about, "core": one.board_of or one.name, "chip": one.chip,
            "flash": one.flash_bytes, "ram": one.ram_bytes, "hertz": one.clock_hz,
        }
        for about, one in [*boards, *cores]
        if one.isa != "avr"
    ]  # fmt: skip
    project = studio.project
    return {
        "folder": project.folder.name, "path": str(project.folder), "sources": project.sources(),
        "recordings": recordings.folders(project), "ports": recordings.ports(), "targets": targets,
    }  # fmt: skip


def _shown(studio: Studio, asked: dict[str, Any]) -> Any:
    path = studio.project.inside(asked["source"])
    return studio.tables.of(
        path,
        header=asked.get("header") != "no",
        encoding=asked.get("encoding") or None,
        decimal=asked.get("decimal") or "auto",
    )


def _table(studio: Studio, asked: dict[str, Any]) -> Any:
    return _shown(studio, asked).facts()


def _histogram(studio: Studio, asked: dict[str, Any]) -> Any:
    return _shown(studio, asked).histogram(asked["column"], asked.get("label") or None)


def _points(studio: Studio, asked: dict[str, Any]) -> Any:
    return _shown(studio, asked).points(asked["x"], asked["y"], asked.get("label") or None)


def _recordings(studio: Studio, asked: dict[str, Any]) -> Any:
    return recordings.listed(studio.project, asked["source"])


def _signal(studio: Studio, asked: dict[str, Any]) -> Any:
    first, end = int(asked.get("first", 0)), int(asked.get("end", 0))
    return recordings.signal(studio.project, asked["name"], first, end)


def _answered(studio: Studio, asked: dict[str, Any]) -> Any:
    return recordings.answers_on(studio.project, _model(studio, asked["run"]), asked["name"])


def _model(studio: Studio, run: str) -> Model:
    return Model.load(studio.project.run_folder(run).path / "model.etm")


def _cut(studio: Studio, asked: dict[str, Any]) -> Any:
    return {"name": recordings.cut(studio.project, asked)}


def _listen(studio: Studio, asked: dict[str, Any]) -> Any:
    model = _model(studio, asked["run"]) if asked.get("run") else None
    words = {name: asked.get(name, "") for name in ("port", "folder", "label", "group")}
    if not all(isinstance(word, str) for word in words.values()):
        raise Refused("port, folder, label and group are texts.")
    studio.listener.begin(**words, model=model)
    return {}


def _unlisten(studio: Studio, asked: dict[str, Any]) -> Any:
    studio.listener.end()
    return studio.listener.now()


def _heard(studio: Studio, asked: dict[str, Any]) -> Any:
    return studio.listener.now()


def _split(studio: Studio, asked: dict[str, Any]) -> Any:
    """Return how many rows of each class are learned from and tested, and which groups are in the test."""
    import numpy as np

    from ethereal.runs.run import read_all_rows

    settings = studio.settings(asked)
    if isinstance(settings, NormalSettings):
        raise Refused("Normal rows have no test. A part of them is held out.")
    rows = read_all_rows(settings)
    labels = np.unique(rows.y[:0] if rows.is_number else rows.y)
    parts = {"learn": rows.y_train, "test": rows.y_test}
    counts = [
        {"label": str(one), **{name: int((y == one).sum()) for name, y in parts.items()}}
        for one in labels.tolist()
    ]
    tested = [] if rows.groups_test is None else np.unique(rows.groups_test).astype(str).tolist()
    learned = [] if rows.groups_train is None else np.unique(rows.groups_train).astype(str).tolist()
    all_rows = {name: len(y) for name, y in parts.items()}
    return {
        "how": rows.how,
        "rows": all_rows,
        "classes": counts[:200],
        "tested": tested[:500],
        "learned": learned[:500],
    }


def _command(studio: Studio, asked: dict[str, Any]) -> Any:
    settings = studio.settings(asked)
    wanted = settings.checked().parameters()
    alike = [one.path.name for one in studio.project.all_runs() if same_training(one.parameters(), wanted)]
    return {"command": shlex.join(studio.words(settings)), "alike": alike}


def _start(studio: Studio, asked: dict[str, Any]) -> Any:
    settings = studio.settings(asked)
    parameters = settings.checked().parameters()
    wanted = json.loads(json.dumps(parameters, sort_keys=True))
    for job in jobs.all_jobs(studio.jobs):
        if job.asked["parameters"] == wanted and job.state == "running":
            raise Refused("This run is under way already.")
    job = jobs.start(studio.jobs, studio.project.folder, studio.words(settings), wanted)
    return {"job": job.folder.name}


def _cancel(studio: Studio, asked: dict[str, Any]) -> Any:
    for job in jobs.all_jobs(studio.jobs):
        if job.folder.name == asked["job"]:
            job.cancel()
            return {"job": job.folder.name}
    raise Refused("There is no such run.")


def _runs(studio: Studio, asked: dict[str, Any]) -> Any:
    """Return runs that were started here and are not done, then all finished ones."""
    folders = studio.project.all_runs()
    # A text, because a damaged folder of a run may hold anything.
    of_parameters = {json.dumps(one.parameters(), sort_keys=True): one for one in reversed(folders)}
    begun, shown = [], set()
    for job in jobs.all_jobs(studio.jobs):
        asked_for = job.asked
        folder = of_parameters.get(json.dumps(asked_for["parameters"], sort_keys=True))
        state = job.state
        key = str(asked_for["parameters"])
        if (
            state == "done"
            or key in shown
            or (folder and studio.summaries.is_done_since(folder, asked_for["begun"]))
        ):
            shown.add(key)
            continue
        shown.add(key)
        is_normal = bool(asked_for["parameters"].get("normal"))
        stages = jobs.stages(folder.path if folder else None, is_normal=is_normal)
        job_of = {"job": job.folder.name, "state": state, "begun": asked_for["begun"], "stages": stages}
        job_of |= {"command": shlex.join(asked_for["words"]), "lines": job.last_lines()[-6:]}
        job_of |= {"progress": job.progress() if state == "running" else None}
        job_of |= {"trouble": job.trouble() if state == "failed" else ""}
        begun.append(job_of | {"again": _again(studio, asked_for["parameters"])})
    finished = []
    for one in folders[:200]:
        summary = studio.summaries.of(one)
        if summary is not None:
            again = _again(studio, one.parameters() or {})
            finished.append({"name": one.path.name, "again": again, **summary})
    return {"now": time.time(), "begun": begun[:20], "finished": finished}


def _again(studio: Studio, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what the page asks for to have the same run, from its parameters."""
    asked = {
        name: value for name, value in parameters.items() if name in _ASKED and value not in (None, [], False)
    }
    with suppress(ValueError, KeyError, TypeError):
        asked["abnormal"] = Path(asked["abnormal"]).relative_to(studio.project.folder.resolve()).as_posix()
    for name in ("flash", "ram", "instructions"):
        if name in asked:
            asked[name] = f"{asked[name]:g}" if isinstance(asked[name], float) else str(asked[name])
    with suppress(ValueError, KeyError, TypeError):
        place = Path(parameters["data"]).relative_to(studio.project.folder.resolve())
        return {"source": place.as_posix(), **asked}
    return asked


def _upload(studio: Studio) -> Handler:
    async def handler(request: Request) -> Response:
        """Write the body to a file as it comes. It gets its name when it is whole."""
        try:
            asked = request.query_params
            path = studio.project.place_for(asked.get("name", ""), is_recording="label" in asked)
            if "label" in asked:
                where = asked.get("folder", ""), asked["label"], asked.get("group", ""), path.name
                path = recordings.place(studio.project, *where)
            size = 0
            with open_atomically(path) as file:
                async for piece in request.stream():
                    if (size := size + len(piece)) > MOST_UPLOAD:
                        raise Refused(f"{path.name} is too large. Copy it into the folder of the project.")
                    await run_in_threadpool(file.write, piece)
                if path.exists():  # by another page, in the meantime
                    raise Refused(f"{path.name!r} is in the folder already.")
            return JSONResponse({"name": path.relative_to(studio.project.folder.resolve()).as_posix()})
        except (ValueError, OSError) as error:
            return _trouble(_said(error))
        except ClientDisconnect:
            return _trouble("The file did not come whole.")

    return handler


def _example(studio: Studio, asked: dict[str, Any]) -> Any:
    return {"name": studio.project.add_example()}


def _live(studio: Studio, asked: dict[str, Any]) -> Any:
    """Say whether the exported C of a run can answer in a browser, and make its page where it can."""
    folder = studio.project.run_folder(asked["run"])
    try:
        studio.summaries.live_page(folder)
    except (ValueError, ModuleNotFoundError) as error:
        return {"why_not": str(error)}
    return {"why_not": ""}


def _file(make: Callable[..., Response], policy: str | None = None) -> Handler:
    """Return a handler that gives a function the parts of a path, for a response or the reason of none."""

    async def handler(request: Request) -> Response:
        try:
            response = await run_in_threadpool(make, **request.path_params)
        except (ValueError, OSError, ModuleNotFoundError) as error:
            return _trouble(_said(error), 404)
        if policy is not None:
            response.headers["content-security-policy"] = policy
        return response

    return handler


def _live_page(studio: Studio) -> Handler:
    def make(name: str) -> Response:
        return HTMLResponse(studio.summaries.live_page(studio.project.run_folder(name)))

    return _file(make, _REPORT_POLICY)


def _report(studio: Studio) -> Handler:
    def make(name: str) -> Response:
        path = studio.project.run_folder(name).path / "report.html"
        if not path.is_file():
            raise Refused("This run has no report yet.")
        return FileResponse(path, media_type="text/html")

    return _file(make, _REPORT_POLICY)


def _sound(studio: Studio) -> Handler:
    def make(name: str) -> Response:
        path = studio.project.inside(name)
        if path.suffix.lower() != ".wav" or not path.is_file():
            raise Refused("There is no such sound.")
        return FileResponse(path, media_type="audio/wav")

    return _file(make)


def _zip(studio: Studio) -> Handler:
    def make(name: str, part: str) -> Response:
        headers = {"content-disposition": f'attachment; filename="{_plain(name)}-{_plain(part)}.zip"'}
        return Response(studio.project.zipped(name, part), media_type="application/zip", headers=headers)

    return _file(make)


def _plain(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
