"""Whatever is written: links stay links, rights stay, pipes and devices are written through."""

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ethereal import Model
from ethereal.base.atomic import open_text, write_bytes, write_folder, write_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and rights are POSIX")


@pytest.fixture
def model():
    return Model([0, 1], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])


def received(path, write):
    """Return what comes out of a pipe while something is written to it."""
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    write()
    reader.join(5)
    return got[0] if got else None


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path, model):
    real, link, far = tmp_path / "real.etm", tmp_path / "link.etm", tmp_path / "far.etm"
    real.write_text("old")
    link.symlink_to("real.etm")
    far.symlink_to(link)
    model.save(far)
    assert far.is_symlink()
    assert link.is_symlink()
    assert not real.is_symlink()
    assert Model.load(real).n_clauses == 2
    nowhere = tmp_path / "nowhere.txt"
    nowhere.symlink_to("new.txt")
    write_text(nowhere, "text")
    assert nowhere.is_symlink()
    assert (tmp_path / "new.txt").read_text() == "text"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *("far.etm", "link.etm", "new.txt", "nowhere.txt", "real.etm")
    ]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_new_files_and_folders_follow_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        write_text(tmp_path / "a", "x")
        write_folder(tmp_path / "c", {"sub/b.c": "x"})
    finally:
        os.umask(before)
    modes = {
        p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.rglob("*") if not p.name.startswith(".")
    }
    assert modes == {"a": 0o600, "c": 0o700, "sub": 0o700, "b.c": 0o600}


def test_a_file_is_private_while_it_replaces_a_private_one(tmp_path):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o600)
    with open_text(path) as file:
        file.write("new")
        other = next(p for p in tmp_path.iterdir() if p != path)
        assert stat.S_IMODE(other.stat().st_mode) == 0o600


def test_a_pipe_is_written_through(tmp_path, model):
    pipe = tmp_path / "pipe.etm"
    os.mkfifo(pipe)
    data = received(pipe, lambda: model.save(pipe))
    assert stat.S_ISFIFO(os.lstat(pipe).st_mode)
    assert [p.name for p in tmp_path.iterdir()] == ["pipe.etm"]
    (tmp_path / "m.etm").write_bytes(data)
    assert Model.load(tmp_path / "m.etm").n_clauses == 2


def test_a_terminal_is_written_through(tmp_path):
    main, other = os.openpty()
    os.set_blocking(main, False)
    link = tmp_path / "terminal"
    link.symlink_to(os.ttyname(other))
    write_bytes(link, b"text\n")
    assert os.read(main, 100).split() == [b"text"]
    assert stat.S_ISCHR(link.stat().st_mode)
    os.close(main)
    os.close(other)


def test_a_descriptor_is_not_opened_anew(tmp_path):
    """As with `--out /dev/stdout >> all.csv`, where what is there must stay."""
    path = tmp_path / "all.csv"
    path.write_text("before\n")
    with path.open("a") as file:
        write_text(f"/dev/fd/{file.fileno()}", "after\n")
    assert path.read_text() == "before\nafter\n"


def test_standard_output(capsysbinary, model, tmp_path):
    print("first")
    model.save("-")
    shown = capsysbinary.readouterr().out
    assert shown.startswith(b"first\n")
    (tmp_path / "m.etm").write_bytes(shown[6:])
    assert Model.load(tmp_path / "m.etm").n_clauses == 2


def test_an_export_keeps_modes_and_links_of_its_folder(tmp_path):
    folder, elsewhere = tmp_path / "c", tmp_path / "firmware.c"
    write_folder(folder, {"a.c": "1", "b.c": "2"})
    (folder / "a.c").chmod(0o600)
    (folder / "b.c").unlink()
    elsewhere.write_text("old")
    (folder / "b.c").symlink_to("../firmware.c")
    write_folder(folder, {"a.c": "new", "b.c": "newer"}, force=True)
    assert stat.S_IMODE((folder / "a.c").stat().st_mode) == 0o600
    assert (folder / "b.c").is_symlink()
    assert elsewhere.read_text() == "newer"
    assert not elsewhere.is_symlink()


def test_an_export_to_a_stream_is_refused(call, model):
    model.save("m.etm")
    assert "Name a folder" in call("export", "m.etm", "--out", "-", code=1).stderr
    assert not Path("-").exists()


@pytest.mark.parametrize("command", [["inspect", "m.etm"], ["predict", "m.etm", "t.csv", "--out", "-"]])
def test_standard_output_that_fails_is_a_clear_error(tmp_path, model, command):
    """A descriptor that was opened for reading takes nothing, as a full disk would."""
    model.save(tmp_path / "m.etm")
    (tmp_path / "t.csv").write_text("a,b\n" + "1,0\n0,1\n" * 20)
    with (tmp_path / "t.csv").open("rb") as only_read:
        done = subprocess.run(
            [sys.executable, "-m", "ethereal", *command],
            stdout=only_read,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert os.strerror(errno.EBADF) in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_model_on_a_terminal_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n" + "1,0,a\n0,1,b\n" * 20)
    main, other = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "ethereal", "train", "t.csv", "--label", "y", "--out", "-"],
        stdout=other,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    os.close(main)
    os.close(other)
    assert done.returncode == 1
    assert "--out" in done.stderr
    assert "terminal" in done.stderr


def test_a_model_and_predictions_through_standard_output(call, tmp_path):
    Path("t.csv").write_text("a,b,y\n" + "1,0,a\n0,1,b\n" * 20)
    done = call("train", "t.csv", "--label", "y", "--epochs", "2", "--out", "-")
    assert "test accuracy" in done.stderr
    Path("m.etm").write_bytes(done.stdout_bytes)
    assert Model.load("m.etm").n_features == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.etm", "t.csv"]  # no checkpoint called "-"
    lines = call("predict", "m.etm", "t.csv", "--out", "-").stdout_bytes.splitlines()
    assert lines[0] == b"prediction"
    assert len(lines) == 41
