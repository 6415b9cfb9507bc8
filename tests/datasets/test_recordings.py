"""Recordings as people have them: folders, tables with a row per sample, wav files and npz files."""

import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethereal.datasets.options import SourceOptions, TableOptions
from ethereal.datasets.reading import read
from ethereal.datasets.recordings import read_recordings, windows_for
from ethereal.datasets.tables import TableError
from ethereal.features.front_end import FrontEnd
from says import says


def options(**more):
    return SourceOptions(**{"window": 32, "hop": 16, "kernels": "stats"} | more)


def write_csv(path: Path, columns: dict[str, list]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def ramp(n: int, start: int = 0) -> list[int]:
    return list(range(start, start + n))


def write_wav(path: Path, samples, rate: int = 8000, width: int = 2, channels: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(np.asarray(samples, dtype=f"<i{width}" if width in (2, 4) else "u1").tobytes())
    return path


def test_a_folder_per_class_gives_windows_labels_groups_and_axes(tmp_path):
    for label, person, start in (("rest", "a", 0), ("rest", "b", 100), ("walk", "a", 200)):
        write_csv(tmp_path / label / person / "1.csv", {"ax": ramp(64, start), "ay": ramp(64, -start)})
    rows = read_recordings(str(tmp_path), options(group="person", rate=50.0))
    assert rows.X.dtype == np.int16
    assert rows.X.shape == (9, 32, 2)
    assert rows.X[1, :, 0].tolist() == ramp(32, 16)
    assert rows.y.tolist() == ["rest"] * 6 + ["walk"] * 3
    assert rows.groups.tolist() == ["a"] * 3 + ["b"] * 3 + ["a"] * 3
    front_end = rows.front_end.front_end_
    assert (front_end.axes, front_end.window, front_end.hop, front_end.rate) == (("ax", "ay"), 32, 16, 50.0)


def test_windows_do_not_cross_labels_recordings_or_lost_samples(tmp_path, capsys):
    n = 200
    path = write_csv(
        tmp_path / "all.csv",
        {
            "ax": ramp(n),
            "activity": ["rest"] * 50 + ["walk"] * 150,
            "recording": ["one"] * 100 + ["two"] * 100,
            "time": [i * 20 + (1000 if i >= 140 else 0) for i in range(n)],
        },
    )
    rows = read(str(path), options(label="activity", rate=50.0))
    first = rows.X[:, 0, 0].tolist()
    assert first == [0, 16, 50, 66, 100, 140, 156]
    assert rows.y.tolist() == ["rest"] * 2 + ["walk"] * 5
    assert rows.groups.tolist() == [0] * 4 + [1] * 3
    assert rows.groups_are == "recordings"
    says(capsys.readouterr().err, "group=")


@pytest.mark.parametrize("time", ["time [ms]", "Timestamp (ms)", "time_ms[ms]"])
def test_a_unit_in_brackets_does_not_make_an_axis_of_the_time(tmp_path, time):
    times = [i * 20 + (1000 if i >= 40 else 0) for i in range(80)]
    path = write_csv(tmp_path / "all.csv", {time: times, "ax [g]": ramp(80), "k": ["a"] * 80})
    rows = read(str(path), options(label="k", rate=50.0))
    assert rows.front_end.front_end_.axes == ("ax [g]",)
    assert rows.X[:, 0, 0].tolist() == [0, 40]


def test_pieces_of_one_table_are_its_recordings(tmp_path):
    path = write_csv(tmp_path / "all.csv", {"ax": ramp(160), "k": (["a"] * 40 + ["b"] * 40) * 2})
    assert np.unique(read(str(path), options(label="k")).groups).tolist() == [0, 1, 2, 3]


def test_short_recordings_are_skipped_and_counted(tmp_path, capsys):
    write_csv(tmp_path / "a" / "long.csv", {"ax": ramp(40)})
    write_csv(tmp_path / "b" / "short.csv", {"ax": ramp(31)})
    assert len(read_recordings(str(tmp_path), options()).X) == 1
    told = " ".join(capsys.readouterr().err.split())
    says(told, "1", "2", "32")
    assert "short.csv (31)" in told
    with pytest.raises(TableError, match=r"long\.csv.*64.*window=32"):
        read_recordings(str(tmp_path), options(window=64))


def test_samples_without_a_label_are_left_out(tmp_path, capsys):
    path = write_csv(tmp_path / "t.csv", {"ax": ramp(90), "k": ["a"] * 40 + [""] * 10 + ["b"] * 40})
    rows = read(str(path), options(label="k"))
    assert rows.X[:, 0, 0].tolist() == [0, 50]
    assert "10 samples without a label" in capsys.readouterr().err


def test_floats_need_a_scale_and_the_message_proposes_one(tmp_path, capsys):
    values = [0.5 + i / 100 for i in range(64)]
    write_csv(tmp_path / "a" / "1.csv", {"ax": values, "gx": [500 * v for v in values]})
    with pytest.raises(TableError, match=r"1\.csv.*0\.5.*scale=10"):
        read_recordings(str(tmp_path), options())
    rows = read_recordings(str(tmp_path), options(scale="1000,10", units="g"))
    assert rows.X[0, :2].tolist() == [[500, 2500], [510, 2550]]
    assert rows.front_end.front_end_.scale == (1000.0, 10.0)
    with pytest.raises(TableError, match=r"scale=.*\b3\b.*\b2\b"):
        read_recordings(str(tmp_path), options(scale="1,2,3"))
    with pytest.raises(TableError, match=r"scale is 'big'"):
        read_recordings(str(tmp_path), options(scale="big"))
    read_recordings(str(tmp_path), options(scale="1000"))
    assert "go beyond 16 bits" in capsys.readouterr().err


def test_whole_numbers_beyond_16_bits_are_refused(tmp_path):
    write_csv(tmp_path / "a" / "1.csv", {"ax": [40000] * 40})
    with pytest.raises(TableError, match=r"40000.*scale=0\.1"):
        read_recordings(str(tmp_path), options())


@pytest.mark.parametrize(
    "columns, more, why",
    [
        ({"ax": [1, "", 3], "ay": [1, 2, 3]}, {}, r"1\.csv, line 3: column 'ax' is empty"),
        ({"ax": [1, "inf", 3]}, {}, r"1\.csv, line 3: column 'ax' is inf"),
        ({"ax": [1, "x", 3]}, {}, "'x'"),
        ({"ax": [1, 2, 3], "time": [0, 20, 40]}, {"rate": 100.0}, r"steps.*\b20\b.*\b50\b"),
        ({"a.x": [1, 2, 3]}, {}, r"column 'a\.x'.*Rename"),
        ({"ax": [1, 2, 3]}, {"group": "person"}, r"its person is not known"),
        ({"ax": [1, 2, 3]}, {"window": 4}, r"window is 4"),
        ({"ax": [1, 2, 3]}, {"hop": 40}, r"hop is 40"),
        ({"ax": [1, 2, 3]}, {"window": None}, r"window= is missing"),
    ],
)
def test_bad_tables_are_refused_with_the_place(tmp_path, columns, more, why):
    write_csv(tmp_path / "a" / "1.csv", columns)
    with pytest.raises(ValueError, match=why):
        read_recordings(str(tmp_path), options(**more))


def test_other_axes_are_refused(tmp_path):
    write_csv(tmp_path / "a" / "1.csv", {"ax": ramp(40)})
    write_csv(tmp_path / "b" / "2.csv", {"ax": ramp(40), "ay": ramp(40)})
    with pytest.raises(TableError, match=r"2\.csv.*1\.csv"):
        read_recordings(str(tmp_path), options())


def test_usual_kernels_suit_the_window(tmp_path):
    write_csv(tmp_path / "a" / "1.csv", {"ax": ramp(40)})
    front_end = read_recordings(str(tmp_path), options(kernels=None)).front_end.front_end_
    assert [kernel for kernel, _ in front_end.groups] == ["stats", "parts", "haar"]


def test_wav_files(tmp_path):
    for label in ("yes", "no"):
        write_wav(tmp_path / label / "1.wav", ramp(600))
    rows = read_recordings(str(tmp_path), SourceOptions(window=512))
    front_end = rows.front_end.front_end_
    assert (front_end.rate, front_end.groups) == (8000.0, (("mel", "x"),))
    assert rows.X.shape == (2, 512, 1)
    assert rows.X[0, :3, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "write, why",
    [
        (lambda p: write_wav(p, ramp(50), rate=44100), r"2\.wav.*44100.*but.*\b8000\b"),
        (lambda p: write_wav(p, [1] * 50, width=1), r"2\.wav.*\b8\b.*\b16\b"),
        (lambda p: write_wav(p, [1] * 50, width=4), r"2\.wav.*\b32\b.*\b16\b"),
        (lambda p: write_wav(p, ramp(100), channels=2), r"2\.wav.*\b2\b.*1\.wav.*\b1\b"),
        (lambda p: p.write_bytes(b"RIFF"), r"2\.wav"),
        (lambda p: p.write_bytes(write_wav(p, ramp(50)).read_bytes()[:-21]), r"2\.wav"),
    ],
)
def test_odd_wav_files_are_refused(tmp_path, write, why):
    write_wav(tmp_path / "a" / "1.wav", ramp(50))
    write(tmp_path / "a" / "2.wav")
    with pytest.raises(TableError, match=why):
        read_recordings(str(tmp_path), options(rate=8000.0))


def test_rates_of_wav_files_must_be_equal(tmp_path):
    write_wav(tmp_path / "a" / "1.wav", ramp(50))
    write_wav(tmp_path / "a" / "2.wav", ramp(50), rate=16000)
    with pytest.raises(TableError, match=r"2\.wav.*\b16000\b.*1\.wav.*\b8000\b"):
        read_recordings(str(tmp_path), options())


def test_npz_of_windows(tmp_path):
    path, X = tmp_path / "w.npz", np.arange(4 * 32 * 2).reshape(4, 32, 2)
    np.savez(path, X=X, y=["a", "b", "a", "b"], groups=[0, 0, 1, 1], axes=["ax", "ay"])
    rows = read(str(path), SourceOptions(kernels="stats", rate=50.0))
    assert (rows.X == X).all()
    assert rows.groups.tolist() == [0, 0, 1, 1]
    assert rows.front_end.front_end_.axes == ("ax", "ay")
    with pytest.raises(TableError, match=r"window.*\b16\b.*\b32\b"):
        read(str(path), SourceOptions(window=16))
    bad = X.astype(float)
    bad[1, 2, 0] = np.nan
    np.savez(path, X=bad, y=[0, 1, 0, 1])
    with pytest.raises(TableError, match=r"X\[1, 2, 0\] is nan"):
        read(str(path), SourceOptions())
    np.savez(path, X=X + 0.5, y=[0, 1, 0, 1])
    with pytest.raises(TableError, match=r"has the sample 0\.5"):
        read(str(path), SourceOptions())


def test_an_npz_file_may_know_rate_scale_and_classes(tmp_path):
    path, X = tmp_path / "w.npz", np.arange(4 * 32 * 2).reshape(4, 32, 2) / 1000
    known = {"rate": 50.0, "scale": [1000, 1000], "units": ["g", "g"], "axis_names": ["u", "v"]}
    np.savez(path, X=X, y=[0, 1, 0, 1], test=[False, False, True, True], class_names=["a", "b"], **known)
    rows = read(str(path), SourceOptions(kernels="stats"))
    front_end = rows.front_end.front_end_
    assert (front_end.rate, front_end.scale, front_end.units, front_end.axes) == (
        50.0,
        (1000.0,) * 2,
        ("g", "g"),
        ("u", "v"),
    )
    assert rows.y.tolist() == ["a", "b", "a", "b"]
    assert rows.X.ravel().tolist() == list(range(256))
    assert windows_for(front_end, str(path), TableOptions()).X.tolist() == rows.X.tolist()
    with pytest.raises(TableError, match=r"windows.*\b32\b.*\b2\b.*\b64\b.*\b2\b"):
        windows_for(replace(front_end, window=64, hop=64), str(path), TableOptions())


@pytest.mark.parametrize(
    "arrays, why",
    [
        ({"y": [0, 1]}, "y has shape"),
        ({"y": [0, 1, 2, 0], "class_names": ["a"]}, r"indices.*\b1 class_names"),
        ({"y": [0, 1, 0, 1], "test": [0, 0, 1, 1]}, "test has dtype"),
        ({"y": [0, 1, 0, 1], "rate": [1.0, 2.0]}, "rate has dtype"),
        ({"y": [0, 1, 0, 1], "scale": [1.0, 2.0, 3.0]}, "scale has dtype"),
        ({"y": [0, 1, 0, 1], "X": np.zeros((4, 3, 2))}, r"\b3\b.*\b32\b"),
        ({}, "has no array y"),
    ],
)
def test_odd_npz_files_are_refused(tmp_path, arrays, why):
    np.savez(tmp_path / "w.npz", **{"X": np.zeros((4, 32, 2), dtype=np.int16), **arrays})
    with pytest.raises(TableError, match=why):
        read(str(tmp_path / "w.npz"), SourceOptions())


def test_a_model_reads_its_axes_by_name(tmp_path):
    front_end = FrontEnd(("ay", "ax"), 32, (("stats", "ax"),), 32)
    path = write_csv(tmp_path / "new.csv", {"note": [0] * 70, "ax": ramp(70), "ay": ramp(70, 500)})
    rows = windows_for(front_end, str(path), TableOptions())
    assert rows.X.shape == (2, 32, 2)
    assert rows.X[1, 0].tolist() == [532, 32]
    assert len(rows.y) == 0
    path = write_csv(tmp_path / "less.csv", {"ax": ramp(70)})
    with pytest.raises(TableError, match=r"less\.csv: lacks the column 'ay'"):
        windows_for(front_end, str(path), TableOptions())


def test_what_is_not_there(tmp_path):
    with pytest.raises(TableError, match="has no recordings"):
        read_recordings(str(tmp_path), options())
    with pytest.raises(TableError, match="there is no such file or folder"):
        read_recordings(str(tmp_path / "none"), options())
    write_csv(tmp_path / "1.csv", {"ax": ramp(40)})
    with pytest.raises(TableError, match=r"1\.csv.*label"):
        read_recordings(str(tmp_path), options())
    write_wav(tmp_path / "0.wav", ramp(40))
    with pytest.raises(TableError, match=r"0\.wav.*label"):
        read_recordings(str(tmp_path), options())
