"""Exports over older exports: the folder holds the new one, and nothing of the user's is lost."""

import os
from pathlib import Path

import pytest

from ethereal import Model, export
from ethereal.base.folder import RECORD, write_folder, written_files


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
    folder = tmp_path / "out"
    write_folder(folder, {"a.c": "1"})
    (folder / "notes.txt").write_text("mine")
    rename, calls = Path.rename, []

    def broken(self, target):
        calls.append(self)
        if len(calls) == fails_at + 1:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", broken)
    with pytest.raises(OSError, match="No space left"):
        write_folder(folder, {"b.c": "2"}, force=True)
    monkeypatch.undo()
    assert names(folder) == [RECORD, "a.c", "notes.txt"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


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
