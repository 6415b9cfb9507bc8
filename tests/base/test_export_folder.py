"""Exports over older exports: the folder holds the new one, and nothing of the user's is lost."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from threading import Thread

import pytest

from ethereal import Model, export
from ethereal.base.atomic import RECORD, _folder_beside, only_one, write_folder, written_files


def names(folder):
    return sorted(p.relative_to(folder).as_posix() for p in Path(folder).rglob("*") if not p.is_dir())


def test_a_second_export_leaves_nothing_of_the_first(tmp_path):
    folder = tmp_path / "out"
    write_folder(folder, {"a.c": "1", "sub/b.c": "2", "both.h": "old"})
    write_folder(folder, {"c.c": "3", "both.h": "new"}, force=True)
    assert names(folder) == [RECORD, "both.h", "c.c"]
    assert (folder / "both.h").read_text() == "new"
    assert not (folder / "sub").exists()
    assert written_files(folder) == ["both.h", "c.c"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]  # nothing left over


def test_files_of_the_user_are_kept(tmp_path):
    folder = tmp_path / "out"
    write_folder(folder, {"a.c": "1", "main.c": "example", "sub/b.c": "2"})
    (folder / "notes.txt").write_text("mine")
    (folder / "build").mkdir()
    (folder / "build" / "a.o").write_bytes(b"\0")
    (folder / "link").symlink_to("notes.txt")
    (folder / "main.c").write_text("changed by me")
    write_folder(folder, {"new.c": "3"}, force=True)
    assert names(folder) == [RECORD, "build/a.o", "link", "main.c", "new.c", "notes.txt"]
    assert (folder / "main.c").read_text() == "changed by me"
    assert os.readlink(folder / "link") == "notes.txt"
    assert written_files(folder) == ["new.c"]
    write_folder(folder, {"other.c": "4"}, force=True)
    assert "notes.txt" in names(folder)
    assert "new.c" not in names(folder)


@pytest.mark.parametrize("fails_at", [0, 1])
def test_a_failure_leaves_the_old_folder(tmp_path, monkeypatch, fails_at):
    """Where folders cannot be swapped at once. `test_failing_io.py` has every other failure."""
    folder = tmp_path / "out"
    write_folder(folder, {"a.c": "1"})
    (folder / "notes.txt").write_text("mine")
    rename, calls = Path.rename, []

    def broken(self, target):
        calls.append(self)
        if len(calls) == fails_at + 1:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr("ethereal.base.atomic._swap", lambda new, path: False)
    monkeypatch.setattr(Path, "rename", broken)
    with pytest.raises(OSError, match="No space left"):
        write_folder(folder, {"b.c": "2"}, force=True)
    monkeypatch.undo()
    assert names(folder) == [RECORD, "a.c", "notes.txt"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
@pytest.mark.parametrize("killed_at", [0, 1, 2, 3])
def test_the_next_export_mends_what_a_kill_left(tmp_path, monkeypatch, killed_at):
    """Without a swap there is a moment without the folder. The next call has the user's files again."""
    folder = tmp_path / "out"
    write_folder(folder, {"a.c": "1"})
    (folder / "notes.txt").write_text("mine")
    if (pid := os.fork()) == 0:
        rename, calls = Path.rename, []

        def deadly(self, target):
            if len(calls) == killed_at:
                os.kill(os.getpid(), 9)
            calls.append(self)
            return rename(self, target)

        monkeypatch.setattr("ethereal.base.atomic._swap", lambda new, path: False)
        monkeypatch.setattr("shutil.rmtree", lambda *_, **__: os.kill(os.getpid(), 9))
        monkeypatch.setattr(Path, "rename", deadly)
        write_folder(folder, {"b.c": "2"}, force=True)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    assert folder.exists() == (killed_at != 1)
    assert len(list(tmp_path.iterdir())) > 1
    write_folder(folder, {"c.c": "3"}, force=True)
    assert names(folder) == [RECORD, "c.c", "notes.txt"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_export_waits_for_another(tmp_path):
    folder = tmp_path / "out"
    with only_one(tmp_path / ".out.lock") as is_alone, _folder_beside(folder) as beside:
        assert is_alone
        later = Thread(target=write_folder, args=(folder, {"a.c": "1"}))
        later.start()
        later.join(0.3)
        assert later.is_alive()
        assert beside.is_dir()
        assert not folder.exists()
    later.join()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_folder_beside_is_left_alone_where_nothing_can_be_locked(tmp_path, monkeypatch):
    monkeypatch.setattr("ethereal.base.atomic.only_one", lambda _: nullcontext(False))
    with _folder_beside(tmp_path / "out") as beside:
        write_folder(tmp_path / "out", {"a.c": "1"})
        assert beside.is_dir()


def test_whoever_does_not_wait_hears_of_the_lock(tmp_path):
    lock = tmp_path / "a.lock"
    with only_one(lock), pytest.raises(BlockingIOError), only_one(lock, wait=False):
        pass
    assert not lock.exists()


def test_without_a_folder_for_the_lock_there_is_none(tmp_path):
    (tmp_path / "file").touch()
    with only_one(tmp_path / "file" / "a.lock") as is_alone:
        assert not is_alone


def test_the_folder_keeps_its_rights(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir(0o700)
    write_folder(folder, {"a.c": "1"})
    write_folder(folder, {"a.c": "2"}, force=True)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_folder(".", {"a.c": "1"})
    assert Path("a.c").read_text() == "1"
    with pytest.raises(FileExistsError, match="current folder"):
        write_folder(".", {"b.c": "1"}, force=True)
    assert names(".") == [RECORD, "a.c"]


def test_the_command_prints_what_it_wrote(call, tmp_path):
    Model([0, 1], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"]).save("iris.etm")
    call("export", "iris.etm", "--to", "c", "--layout", "compact", "--out", "c")
    (tmp_path / "c" / "mine.txt").write_text("x")
    shown = call("export", "iris.etm", "--out", "c", "--layout", "fast", "--name", "other", "--force").stdout
    assert "other.c" in shown
    assert "mine.txt" not in shown
    assert "iris" not in shown.replace("iris.etm", "")
    assert not [name for name in names("c") if name.startswith("iris") or "compact" in name]
    assert export.c(Model.load("iris.etm"), tmp_path / "d").is_dir()
