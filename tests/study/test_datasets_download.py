"""Downloads from a server on loopback that breaks off, changes its mind, refuses, or is not there."""

import os
import subprocess
import sys
import threading

import pytest

import dataset_archives
from dataset_archives import ARCHIVES, serving, small_source, statlog_files, zipped
from ethereal import datasets
from ethereal.datasets import DatasetError
from ethereal_study.sets import download, registry

NAME = "statlog+vehicle+silhouettes.zip"


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setattr(download, "WAIT", 0.01)
    monkeypatch.setattr(download, "CHUNK", 100)
    with serving() as running:
        monkeypatch.setitem(registry.SOURCES, "statlog", small_source("statlog", running))
        running.files[NAME] = ARCHIVES["statlog"][0]()
        yield running


def files_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and p.name != ".lock")


WHOLE = [f"archives/{NAME}", f"archives/{NAME}.sha256", "statlog.npz"]


def test_downloads_once_and_remembers_the_hash(site, tmp_path):
    assert datasets.load("statlog", data_folder=tmp_path).X.shape == (36, 18)
    datasets.load("statlog", data_folder=tmp_path)
    assert site.requests == [(NAME, None)]
    assert files_in(tmp_path) == WHOLE
    assert datasets.status("statlog", data_folder=tmp_path).state == "ready"
    checked = subprocess.run(
        ["sha256sum", "--check", f"{NAME}.sha256"], cwd=tmp_path / "archives", capture_output=True
    )
    assert checked.returncode == 0


def test_a_broken_connection_is_resumed_where_it_broke(site, tmp_path):
    site.break_after = [1000, 500]
    assert datasets.load("statlog", data_folder=tmp_path).X.shape == (36, 18)
    assert site.requests == [(NAME, None), (NAME, "bytes=1000-"), (NAME, "bytes=1500-")]
    assert (tmp_path / "archives" / NAME).read_bytes() == site.files[NAME]
    assert files_in(tmp_path) == WHOLE


def test_a_later_call_resumes_too(site, tmp_path):
    site.break_after = [700, 0, 0, 0]  # more than one call tries
    with pytest.raises(DatasetError, match=r"ended after|Incomplete|Connection"):
        datasets.load("statlog", data_folder=tmp_path)
    status = datasets.status("statlog", data_folder=tmp_path)
    assert (status.state, status.bytes) == ("partial", 700)
    assert files_in(tmp_path) == [f"archives/{NAME}.part", f"archives/{NAME}.part.json"]
    site.requests.clear()
    datasets.load("statlog", data_folder=tmp_path)
    assert site.requests == [(NAME, "bytes=700-")]
    assert files_in(tmp_path) == WHOLE


def test_a_file_that_changed_meanwhile_starts_again(site, tmp_path):
    site.break_after = [700, 0, 0, 0]
    with pytest.raises(DatasetError):
        datasets.load("statlog", data_folder=tmp_path)
    site.files[NAME] = zipped(statlog_files(rows=5))
    site.requests.clear()
    assert datasets.load("statlog", data_folder=tmp_path).X.shape == (45, 18)
    assert site.requests == [(NAME, "bytes=700-")]
    assert (tmp_path / "archives" / NAME).read_bytes() == site.files[NAME]  # nothing of the old one in it


@pytest.mark.parametrize("change", [{"ranges": False}, {"validator": False}])
def test_servers_without_ranges_or_validators_start_again(change, site, tmp_path):
    for key, value in change.items():
        setattr(site, key, value)
    site.break_after = [900]
    datasets.load("statlog", data_folder=tmp_path)
    assert (tmp_path / "archives" / NAME).read_bytes() == site.files[NAME]


def test_a_part_longer_than_the_file_starts_again(site, tmp_path):
    site.break_after = [700, 0, 0, 0]
    with pytest.raises(DatasetError):
        datasets.load("statlog", data_folder=tmp_path)
    with (tmp_path / "archives" / f"{NAME}.part").open("ab") as part:
        part.write(bytes(len(site.files[NAME])))
    datasets.load("statlog", data_folder=tmp_path)
    assert (tmp_path / "archives" / NAME).read_bytes() == site.files[NAME]


def test_a_part_that_is_the_whole_file_is_taken(site, tmp_path):
    site.break_after = [700, 0, 0, 0]
    with pytest.raises(DatasetError):
        datasets.load("statlog", data_folder=tmp_path)
    (tmp_path / "archives" / f"{NAME}.part").write_bytes(site.files[NAME])  # killed before the renaming
    site.requests.clear()
    datasets.load("statlog", data_folder=tmp_path)
    assert site.requests == [(NAME, f"bytes={len(site.files[NAME])}-")]
    assert files_in(tmp_path) == WHOLE


def test_a_damaged_note_starts_again(site, tmp_path):
    site.break_after = [700, 0, 0, 0]
    with pytest.raises(DatasetError):
        datasets.load("statlog", data_folder=tmp_path)
    (tmp_path / "archives" / f"{NAME}.part.json").write_text("[]")
    datasets.load("statlog", data_folder=tmp_path)
    assert (tmp_path / "archives" / NAME).read_bytes() == site.files[NAME]


def test_passing_errors_are_tried_again_and_final_ones_are_not(site, tmp_path):
    site.errors = [503, 429]
    datasets.load("statlog", data_folder=tmp_path)
    assert len(site.requests) == 3
    site.requests.clear()
    del site.files[NAME]
    with pytest.raises(
        DatasetError, match=r"404 Not Found\nWithout a network, put the file into .*archives by hand"
    ):
        datasets.fetch("statlog", data_folder=tmp_path, force=True)
    assert len(site.requests) == 1


def test_no_network_says_where_to_put_the_file(site, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TRIES", 1)
    closed = small_source(
        "statlog", type(site)(url="http://127.0.0.1:9/")
    )  # the discard port: nobody listens
    monkeypatch.setitem(registry.SOURCES, "statlog", closed)
    with pytest.raises(DatasetError) as caught:
        datasets.load("statlog", data_folder=tmp_path)
    assert NAME in str(caught.value)
    assert f"put the file into {tmp_path / 'archives'} by hand" in str(caught.value)
    assert files_in(tmp_path) == []
    (tmp_path / "archives" / NAME).write_bytes(site.files[NAME])
    assert datasets.load("statlog", data_folder=tmp_path).X.shape == (36, 18)


def test_a_mirror_serves_when_the_first_address_fails(site, tmp_path):
    with serving() as empty:
        path = download.fetch((empty.url + NAME, site.url + NAME), tmp_path, None)
    assert path.read_bytes() == site.files[NAME]


def test_another_file_than_remembered_is_refused(site, tmp_path):
    datasets.load("statlog", data_folder=tmp_path)
    before = (tmp_path / "statlog.npz").read_bytes()
    site.files[NAME] = ARCHIVES["mammography"][0]()
    with pytest.raises(DatasetError, match=r"delete.*sha256"):
        datasets.fetch("statlog", data_folder=tmp_path, force=True)
    assert (tmp_path / "statlog.npz").read_bytes() == before
    assert not (tmp_path / "archives" / NAME).exists()


def test_a_known_hash_is_checked(site, tmp_path):
    with pytest.raises(DatasetError, match=r"md5:0123.* expected"):
        download.fetch((site.url + NAME,), tmp_path, "md5:" + "0123" * 8)
    assert files_in(tmp_path) == []


def test_an_archive_that_was_damaged_on_disk_is_refused(site, tmp_path):
    datasets.load("statlog", data_folder=tmp_path)
    (tmp_path / "statlog.npz").unlink()
    archive = tmp_path / "archives" / NAME
    archive.write_bytes(archive.read_bytes()[:-1])
    with pytest.raises(DatasetError, match=r"has another hash .*damaged or not whole"):
        datasets.load("statlog", data_folder=tmp_path)
    (tmp_path / "archives" / f"{NAME}.sha256").write_text("gibberish")
    with pytest.raises(DatasetError, match="holds no SHA-256"):
        datasets.load("statlog", data_folder=tmp_path)


def test_force_downloads_and_parses_again(site, tmp_path):
    datasets.fetch("statlog", data_folder=tmp_path)
    assert datasets.fetch("statlog", data_folder=tmp_path) == tmp_path / "statlog.npz"
    assert len(site.requests) == 1
    datasets.fetch("statlog", data_folder=tmp_path, force=True, progress=True)
    assert len(site.requests) == 2
    assert datasets.fetch("digits", data_folder=tmp_path) is None


def test_many_at_once_download_once(site, tmp_path):
    results = []
    threads = [
        threading.Thread(
            target=lambda: results.append(datasets.load("statlog", data_folder=tmp_path).X.sum())
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert len(set(results)) == 1
    assert len(site.requests) == 1


def test_a_full_disk_keeps_what_is_there_and_says_so(site, tmp_path):
    script = """
import resource, sys
from ethereal.datasets import DatasetError
from ethereal_study.sets import download
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
try:
    download.fetch((sys.argv[1],), Path(sys.argv[2]), None)
except DatasetError as e:
    print(e)
"""
    command = [sys.executable, "-c", script, site.url + NAME, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "cannot be written (File too large). Free some space" in done.stdout
    assert NAME not in files_in(tmp_path)
    download.fetch((site.url + NAME,), tmp_path, None)
    assert (tmp_path / NAME).read_bytes() == site.files[NAME]


@pytest.mark.skipif(os.name != "posix", reason="file permissions of POSIX")
def test_a_folder_that_cannot_be_written(site, tmp_path):
    (tmp_path / "archives").write_text("in the way")  # works for root as well, unlike permissions
    with pytest.raises(DatasetError, match="ETHEREAL_DATA"):
        datasets.load("statlog", data_folder=tmp_path)


KILLS = """
import os, random, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from dataset_archives import Site, small_source
from ethereal import datasets
from ethereal_study.sets import registry
import requests, rich.progress  # before the forks
registry.SOURCES["statlog"] = small_source("statlog", Site(url=sys.argv[2]))
folder, rng = Path(sys.argv[3]), random.Random(0)
npz = folder / "statlog.npz"
for kill in range(20):
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        datasets.fetch("statlog", data_folder=folder, force=kill % 3 == 0)
        os._exit(0)
    time.sleep(rng.uniform(0, 0.04))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if npz.exists():
        assert datasets.load("statlog", data_folder=folder).X.shape == (36, 18)
        if rng.random() < 0.5:
            npz.unlink()
datasets.fetch("statlog", data_folder=folder, force=True)
assert datasets.load("statlog", data_folder=folder).X.shape == (36, 18)
print("survived")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_moment_it_is_whole_or_not_there(site, tmp_path):
    here = os.path.dirname(dataset_archives.__file__)
    command = [sys.executable, "-c", KILLS, here, site.url, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip().endswith("survived"), (done.returncode, done.stderr)
    assert files_in(tmp_path) == WHOLE
