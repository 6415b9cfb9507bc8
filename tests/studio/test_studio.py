"""The studio without a browser: what it answers, what it refuses, and runs that go on by themselves."""

import io
import json
import os
import random
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")

from ethereal.studio import jobs
from ethereal.studio.project import Project, Refused
from ethereal.studio.server import Studio
from ethereal.studio.tables import MOST_ROWS, Tables
from studios import odd_table, sound, started, wait_for


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A studio of a folder with an odd table, as the command starts it."""
    folder = tmp_path_factory.mktemp("project")
    odd_table(folder / "odd.csv")
    (folder / "below").mkdir()
    (folder / "below" / "numbers.csv").write_text("a,b,y\n" + "1,2,p\n3,4,q\n" * 40)
    (tmp_path_factory.getbasetemp() / "secret.csv").write_text("a,y\n1,2\n")
    with started(folder) as studio:
        yield studio


def test_a_table_is_shown_as_the_reader_takes_it(served):
    status, facts = served.ask("api/table?source=odd.csv")
    assert status == 200
    assert (facts["rows"], facts["whole"], facts["label"]) == (120, True, "mood")
    by_name = {c["name"]: c for c in facts["columns"]}
    kinds = {name: (c["kind"], c["role"]) for name, c in by_name.items()}
    assert kinds["name [kg]"] == ("number", "feature")
    assert kinds["grün & <b>"] == ("text", "feature")
    assert kinds["day"] == ("refused", "drop")
    assert kinds["id"] == ("refused", "drop")
    assert "date" in by_name["day"]["remark"]
    assert 0.01 < by_name["gap"]["missing"] < 0.3
    assert by_name["grün & <b>"]["different"] == 3


def test_histograms_and_points_count_every_row_once(served):
    _, h = served.ask("api/histogram?source=odd.csv&column=name%20%5Bkg%5D&label=mood")
    assert np.sum(h["counts"]) == 120
    assert h["classes"] == ["bad", "good"]
    _, h = served.ask("api/histogram?source=odd.csv&column=gr%C3%BCn%20%26%20%3Cb%3E&label=mood")
    assert sorted(h["heads"]) == ["blue", "dark red", "red"]
    assert np.sum(h["counts"]) == 120
    _, p = served.ask("api/points?source=odd.csv&x=name%20%5Bkg%5D&y=gap&label=mood")
    assert len(p["points"]) == len(p["of"]) < 120


def test_the_command_is_the_one_that_does_the_same(served):
    asked = {"source": "odd.csv", "label": "mood", "drop": ["day", "id"], "flash": "2048", "quick": True}
    status, said = served.ask("api/command", asked)
    assert status == 200
    options = "--label mood --drop day --drop id --flash 2048 --quick"
    assert said == {"command": f"ethereal run odd.csv {options}", "alike": []}
    number = {"source": "odd.csv", "label": "gap", "task": "number", "target": "pico"}
    _, said = served.ask("api/command", number)
    assert said["command"] == "ethereal run odd.csv --label gap --task number --target pico"
    asked = {"source": "odd.csv", "normal": True, "abnormal": "below/numbers.csv", "drop": ["day"]}
    _, said = served.ask("api/command", {**asked, "false_alarms": 0.02, "target": "pico"})
    options = "--drop day --normal --abnormal below/numbers.csv --false-alarms 0.02 --target pico"
    assert said["command"] == f"ethereal run odd.csv {options}"


@pytest.mark.parametrize(
    "asked, words",
    [
        ({"source": "gone.csv"}, "not there"),
        ({"source": "../secret.csv", "label": "y"}, "not in the folder"),
        ({"source": "odd.csv", "flash": "many"}, "flash"),
        ({"source": "odd.csv", "target": "z80"}, "z80"),
        ({"source": "odd.csv", "out": "/tmp"}, "out"),
        ({"source": "odd.csv", "normal": True, "flash": "2k"}, "flash"),
        ({"source": "odd.csv", "normal": True, "abnormal": "../secret.csv"}, "not in the folder"),
        ({"source": "odd.csv", "normal": True, "false_alarms": 2}, "false_alarms"),
        ({"source": "odd.csv", "seed": "1"}, "seed"),
        ({"source": "odd.csv", "quick": 1}, "quick"),
        ({"source": "odd.csv", "drop": [1]}, "drop"),
        ({"source": 5}, "source"),
        ({}, "file of this project"),
    ],
)
def test_what_cannot_be_asked_for_is_told(served, asked, words):
    status, said = served.ask("api/command", asked)
    assert status == 400
    assert words in said["trouble"]


def test_the_split_says_who_is_in_the_test(served):
    _, s = served.ask("api/split", {"source": "odd.csv", "label": "mood", "drop": ["day", "id"]})
    assert sum(c["learn"] + c["test"] for c in s["classes"]) == 120
    assert sum(c["test"] for c in s["classes"]) == 24


def test_an_upload_gets_its_name_when_it_is_whole(served):
    body = (served.folder / "odd.csv").read_bytes()
    assert served.ask("api/upload?name=again.csv", body) == (200, {"name": "again.csv"})
    assert (served.folder / "again.csv").read_bytes() == body
    status, said = served.ask("api/upload?name=again.csv", body)
    assert status == 400
    assert "already" in said["trouble"]
    assert not list((served.folder / ".studio").glob("upload-*"))


BAD_NAMES = ["", ".", "..", "../x.csv", "a/b.csv", "a\\b.csv", ".x.csv", "con.csv", "x.exe", "x.csv\x00"]
BAD_NAMES += ["\x1b[31m.csv", "n" * 300 + ".csv", "runs", "C:x.csv"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_file_cannot_be_called_anything(served, name):
    before = sorted(served.folder.rglob("*"))
    status, _ = served.ask("api/upload?name=" + urllib.request.quote(name, safe=""), b"a,b\n1,2\n")
    assert status == 400
    assert sorted(served.folder.rglob("*")) == before


def test_nobody_gets_in_without_token_host_and_origin(served):
    """Two hundred requests that are not ours: none is answered, and the studio is still there."""
    rng, origin = random.Random(0), served.base.rstrip("/")
    tokens = ["", "x", served.token[:-1], served.token + "a", served.token.swapcase(), "\xe9", "null"]
    hosts = [
        "example.org",
        "127.0.0.1",
        "localhost",
        f"evil.localhost:{origin.rsplit(':')[-1]}",
        "[::1]:80",
        "",
    ]
    origins = [
        "http://example.org",
        "null",
        "https://127.0.0.1",
        origin + ".example.org",
        "http://127.0.0.1:1",
    ]
    paths = [
        "",
        "api/project",
        "api/runs",
        "runs/a/report.html",
        "runs/a/live.html",
        "runs/a/zephyr.zip",
        "sound/a.wav",
        "api/nothing",
    ]
    posts = ["api/example", "api/start", "api/command", "api/upload?name=x.csv", "api/cut", "api/listen"]
    before = sorted(served.folder.rglob("*"))
    for i in range(200):
        headers = {"x-ethereal-token": served.token, "origin": origin}
        kind = i % 3
        if kind == 0:
            headers["x-ethereal-token"] = rng.choice(tokens)
        elif kind == 1:
            headers["host"] = rng.choice(hosts)
        else:
            headers["origin"] = rng.choice(origins)
        is_post = rng.random() < 0.5
        path = rng.choice(posts if is_post else paths)
        body = rng.randbytes(rng.randrange(200)) if is_post else None
        status, _ = served.ask(path, body, headers=headers, raw=True)
        assert status in (400, 403), (status, path, headers)
        assert status == 403 or kind == 1  # an empty host is no HTTP at all
    assert sorted(served.folder.rglob("*")) == before
    assert served.ask("api/project")[0] == 200


def test_requests_that_are_ours_but_odd_do_no_harm(served):
    rng = random.Random(1)
    names = ["../secret.csv", "/etc/passwd", "..%2f..%2fetc%2fpasswd", ".studio/address",
             "below/../../secret.csv", "%00", "a" * 5000, "runs/../.studio/address", "//etc/passwd", "~",
             "C:\\x"]  # fmt: skip
    get = [
        "api/table?source=",
        "api/recordings?source=",
        "api/signal?name=",
        "sound/",
        "runs/",
        "api/answers?run=x&name=",
        "api/live?run=",
    ]
    for first in get:
        for name in names:
            end = "/report.html" if first == "runs/" else ""
            status, content = served.ask(first + urllib.request.quote(name, safe="%") + end, raw=True)
            assert status >= 400, (first, name)
            assert b"root:" not in content
            assert served.token.encode() not in content
    bodies = [b"", b"[]", b"null", b"{", b'{"a":' * 20000, b"\xff\xfe", b"1", b'"' + b"x" * 70000 + b'"',
              json.dumps({"source": "odd.csv", "label": ["mood"]}).encode(),
              json.dumps({"job": "../.."}).encode()]  # fmt: skip
    for path in ("start", "command", "cancel", "cut", "listen", "unlisten", "split"):
        for body in bodies:
            status, _ = served.ask(f"api/{path}", body, raw=True)
            assert status == 400 or path == "unlisten"
    for _ in range(50):
        served.ask(
            "api/cut",
            {
                "name": rng.choice(names),
                "first": rng.randrange(9),
                "end": 99,
                "folder": rng.choice(names),
                "label": rng.choice(names),
            },
        )
    assert served.ask("api/project")[0] == 200


def test_a_second_studio_on_the_folder_says_where_the_first_is(served):
    other = subprocess.run(
        [sys.executable, "-m", "ethereal", "studio", str(served.folder), "--no-open"],
        capture_output=True, text=True, env={**os.environ, "COLUMNS": "300"}, check=False,
    )  # fmt: skip
    assert other.returncode == 1
    assert served.address in other.stderr


QUICK = {"source": "odd.csv", "label": "mood", "drop": ["day", "id"], "quick": True}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project whose run went on while its studio was killed, and the next studio on it."""
    folder = tmp_path_factory.mktemp("killed")
    odd_table(folder / "odd.csv")
    with started(folder) as first:
        assert first.ask("api/start", QUICK)[0] == 200
        status, said = first.ask("api/start", QUICK)
        assert status == 400
        assert "under way" in said["trouble"]
        first.process.kill()
    with started(folder) as studio:
        wait_for(lambda: studio.ask("api/runs")[1]["finished"] or None)
        yield studio


def test_a_run_goes_on_when_the_studio_is_killed(finished):
    _, said = finished.ask("api/runs")
    assert said["begun"] == []
    (run,) = said["finished"]
    assert run["name"] == "odd"
    assert run["rows"][0][0] == "accuracy"
    assert run["again"]["label"] == "mood"
    assert run["again"]["source"] == "odd.csv"
    assert {"c", "arduino", "model"} <= set(run["parts"])
    again = {**run["again"], "flash": "900", "target": "pico", "seed": 0}
    assert finished.ask("api/command", again)[1]["alike"] == ["odd"]
    assert finished.ask("api/command", {**again, "seed": 1})[1]["alike"] == []


def test_what_is_taken_away_answers_like_the_model(finished):
    status, packed = finished.ask("runs/odd/all.zip", raw=True)
    assert status == 200
    names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    assert {"odd/c/model.h", "odd/model.etm"} <= set(names)
    status, page = finished.ask("runs/odd/report.html", raw=True)
    assert status == 200
    assert page.startswith(b"<!doctype html>")
    assert finished.ask("runs/odd/windows.zip")[0] == 404
    status, packed = finished.ask("runs/odd/zephyr.zip", raw=True)
    assert status == 200
    assert "odd/zephyr/model.h" in " ".join(zipfile.ZipFile(io.BytesIO(packed)).namelist()).replace(
        "src/", ""
    )
    assert finished.ask("api/live?run=odd") == (200, {"why_not": ""})
    status, page = finished.ask("runs/odd/live.html", raw=True)
    assert (status, b"et_page_predict" in page or b"wasm" in page) == (200, True)
    assert finished.ask("runs/none/live.html")[0] == 404


def test_a_run_that_fails_says_why_and_one_that_is_cancelled_goes_on_later(finished):
    (finished.folder / "one.csv").write_text("a,y\n" + "1,p\n" * 30)
    finished.ask("api/start", {"source": "one.csv", "label": "y"})

    def ended():
        states = [job for job in finished.ask("api/runs")[1]["begun"] if job["state"] != "running"]
        return states[0] if states else None

    job = wait_for(ended)
    assert job["state"] == "failed"
    assert "one label only" in job["trouble"]
    assert "--label" in job["trouble"]


def test_cancelled_runs_keep_their_stages(tmp_path):
    odd_table(tmp_path / "odd.csv")
    studio = Studio(Project(tmp_path), 1)
    job = jobs.start(studio.jobs, tmp_path, ["ethereal", "run", "digits"], {})
    wait_for(lambda: True if (job.folder / "log.txt").exists() and job.last_lines() else None)
    time.sleep(0.5)
    job.cancel()
    assert wait_for(lambda: job.state if job.state != "running" else None) == "cancelled"
    assert [one.folder for one in jobs.all_jobs(studio.jobs)] == [job.folder]


def test_a_long_table_is_answered_from_its_first_rows(tmp_path):
    path = tmp_path / "long.csv"
    with open(path, "w") as file:
        file.write("a,b,y\n")
        file.writelines(f"{i % 97},{i % 13},{'pq'[i % 2]}\n" for i in range(5 * MOST_ROWS))
    shown = Tables().of(path)
    facts = shown.facts()
    assert (facts["rows"], facts["whole"], facts["label"]) == (MOST_ROWS, False, "y")
    assert np.sum(shown.histogram("a", "y")["counts"]) == MOST_ROWS


def test_numbers_are_seen_however_they_are_written(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text("a;b;y\n" + "-0,000;1;p\n0,000;01;q\n1,50;1,0;p\n1,5;;q\n" * 10)
    for decimal in (",", "auto"):
        columns = Tables().of(path, decimal=decimal).facts()["columns"]
        assert [c["kind"] for c in columns] == ["number", "number", "text"]
        assert [c["different"] for c in columns[:2]] == [2, 1]


def test_commands_begin_in_the_project_wherever_the_studio_was_started(tmp_path, monkeypatch):
    (project := Project(tmp_path / "p")).folder.mkdir()
    for name in ("a.csv", "b.csv"):
        (project.folder / name).write_text("x,y\n1,2\n")
    studio = Studio(project, 1)
    for where in (tmp_path, project.folder, Path("/")):
        monkeypatch.chdir(where)
        asked = {"source": "a.csv", "normal": True, "abnormal": "b.csv"}
        assert studio.words(studio.settings(asked))[2:] == ["a.csv", "--normal", "--abnormal", "b.csv"]
        assert studio.words(studio.settings({"source": "a.csv"}))[2:] == ["a.csv"]


def test_names_stay_in_the_folder(tmp_path):
    project = Project(tmp_path / "p")
    project.folder.mkdir()
    (tmp_path / "elsewhere.csv").write_text("a\n1\n")
    (project.folder / "link.csv").symlink_to(tmp_path / "elsewhere.csv")
    for name in ("../elsewhere.csv", "link.csv", "/etc/passwd", "", "a\x00b", ".studio/x"):
        with pytest.raises(Refused, match=r"folder|file"):
            project.inside(name)
    assert project.inside("new.csv") == (project.folder / "new.csv").resolve()


def test_recordings_are_listed_shown_and_cut(served):
    folder = served.folder / "recs"
    sound(folder / "hum" / "1.wav")
    (folder / "walk").mkdir()
    lines = [f"{i},{i % 7},{-i}" for i in range(500)]
    (folder / "walk" / "a.csv").write_text("\n".join(["sample,ax,ay", *lines]) + "\n")
    _, said = served.ask("api/recordings?source=recs")
    assert [(r["label"], r["file"]) for r in said["recordings"]] == [("hum", "1.wav"), ("walk", "a.csv")]
    _, s = served.ask("api/signal?name=recs/walk/a.csv&first=100&end=300")
    assert (s["samples"], s["first"], s["end"], s["axes"]) == (500, 100, 300, ["ax", "ay"])
    assert s["low"][1][0] == -100
    for name in ("walk/a.csv", "hum/1.wav"):
        asked = {"name": f"recs/{name}", "first": 10, "end": 60, "folder": "recs", "label": "still"}
        status, cut = served.ask("api/cut", asked)
        assert status == 200, cut
        _, s = served.ask("api/signal?name=" + cut["name"])
        assert s["samples"] == 50
    assert (folder / "still" / "a.csv").read_text().splitlines()[1] == "10,3,-10"
    status, heard = served.ask("sound/recs/hum/1.wav", raw=True)
    assert status == 200
    assert heard == (folder / "hum" / "1.wav").read_bytes()
    assert (
        served.ask(
            "api/cut", {"name": "recs/hum/1.wav", "first": 0, "end": 9, "folder": "recs", "label": "../x"}
        )[0]
        == 400
    )


def test_a_board_is_recorded_and_shown_as_it_sends(served):
    pty, tty = pytest.importorskip("pty"), pytest.importorskip("tty")
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    ends = threading.Event()

    def send():
        i = 0
        while not ends.is_set():
            os.write(ours, b"".join(b"%d,%d\n" % (k % 50, -k % 50) for k in range(i, i + 20)))
            i += 20
            time.sleep(0.02)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        port = os.ttyname(theirs)
        asked = {"port": port, "folder": "board", "label": "shake", "group": "anna"}
        assert served.ask("api/listen", asked) == (200, {})
        assert "already" in served.ask("api/listen", asked)[1]["trouble"]
        heard = wait_for(lambda: ((h := served.ask("api/heard")[1])["n_samples"] > 100 and h) or None)
        assert heard["listening"]
        assert len(heard["samples"]) > 50
        _, ended = served.ask("api/unlisten", {})
    finally:
        ends.set()
        sender.join()
        os.close(ours)
    assert not ended["listening"]
    assert ended["kept"].startswith("board/shake/anna/")
    assert len((served.folder / ended["kept"]).read_text().splitlines()) > 100
    assert "cannot open" in wait_for(lambda: _failed(served))


def _failed(served):
    served.ask("api/listen", {"port": "/dev/nothing", "folder": "board", "label": "x"})
    time.sleep(0.3)
    return served.ask("api/heard")[1]["trouble"] or None


def test_the_folder_of_a_studio_must_be_one():
    from typer.testing import CliRunner

    from ethereal.cli import app

    result = CliRunner().invoke(app, ["studio", str(Path(__file__)), "--no-open"])
    assert result.exit_code == 1


def call_studio(folder, *words):
    command = [sys.executable, "-m", "ethereal", "studio", str(folder), "--no-open", *map(str, words)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "300"},
    )


@pytest.mark.parametrize(
    "words, remedy",
    [
        (["--host", "0.0.0.0"], "name or address by which others"),
        (["--host", "localhost"], "--certificate and --key"),
        (["--key", "key.pem"], "go with --host"),
        (
            ["--host", "localhost", "--certificate", "no.pem", "--key", "no.pem"],
            "not a certificate and its key",
        ),
    ],
)
def test_other_computers_need_a_certificate(tmp_path, words, remedy):
    from typer.testing import CliRunner

    from ethereal.cli import app

    result = CliRunner().invoke(app, ["studio", str(tmp_path), "--no-open", *words])
    assert result.exit_code == 1
    assert remedy in result.output.replace("\n ", "")
    assert not (tmp_path / ".studio").exists()


def test_with_a_certificate_others_reach_it_under_its_name_alone(tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl, which makes a certificate for the test")
    made = tmp_path / "key.pem", tmp_path / "cert.pem"
    asked = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    asked += ["-addext", "subjectAltName=DNS:localhost", "-keyout", made[0], "-out", made[1]]
    subprocess.run([openssl, *asked], check=True, capture_output=True)
    (tmp_path / "project").mkdir()
    options = "--host", "localhost", "--certificate", made[1], "--key", made[0]
    process = call_studio(tmp_path / "project", *options)
    try:
        address = next(line for line in process.stdout if "https://" in line).strip()
        assert address.startswith("https://localhost:")
        trusted = ssl.create_default_context(cafile=str(made[1]))
        base, token = address.split("?token=")

        def status(url, **headers):
            asked = urllib.request.Request(url, headers={"x-ethereal-token": token, **headers})
            try:
                return urllib.request.urlopen(asked, timeout=30, context=trusted).status
            except urllib.error.HTTPError as error:
                return error.code

        assert status(f"{base}api/project") == 200
        other = base.split("/")[2].replace("localhost", "127.0.0.1")
        assert status(f"{base}api/project", host=other) == 403
        assert status(f"{base}api/project", origin=base.rstrip("/").replace("https", "http")) == 403
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()
