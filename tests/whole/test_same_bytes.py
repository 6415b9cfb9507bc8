"""Files of fixed models have the bytes that were recorded, whatever is moved or renamed in the package.

Ten models give every layout. The others have what a plain model lacks: windows, unknown, early answers, what
training saw, learning, and the projects and packages around them.

A change that is meant to alter an export records them again:

    PYTHONPATH=tests/support python tests/whole/test_same_bytes.py
"""

import hashlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

from ethereal import WindowFeatures
from ethereal.export import LAYOUTS, ExportOptions, answering_early, make_program, micropython
from ethereal.export.c99.choose import programs
from ethereal.export.mpy.tables import micropython_tables
from ethereal.export.projects import PROJECTS
from ethereal.export.projects.writer import project_files
from ethereal.model.file import to_file_bytes
from ethereal.model.output import checks_of
from old_ranges import with_ranges
from random_models import random_model
from windows import everything, hard_windows, model_of

RECORDED = Path(__file__).parents[1] / "data" / "same_bytes.json"
MODELS = {
    "thermometer": {"seed": 1},
    "onehot": {"seed": 2, "encoding": "onehot"},
    "mixed": {"seed": 3, "encoding": "mixed", "n_features": 9},
    "Booleans": {"seed": 4, "encoding": None, "n_features": 20},
    "missing": {"seed": 5, "missing": "some"},
    "ignored": {"seed": 6, "encoding": "onehot", "missing": "ignore"},
    "heavy": {"seed": 7, "heaviest": 300},
    "many classes": {"seed": 8, "n_classes": 20, "n_clauses": 150},
    "long clauses": {"seed": 9, "n_features": 40, "longest": 60, "n_clauses": 80},
    "one clause": {"seed": 10, "n_clauses": 1, "longest": 1, "n_classes": 2},
}


def hashes(name):
    """SHA-256 of every file that the model gives, the start of it."""
    model, _ = random_model(**MODELS[name])
    if model.simplify().n_clauses == 0:
        model = model.with_clauses([0], [0, 1], [[1] + [0] * (model.n_classes - 1)])
    files = {
        "etm": to_file_bytes(model),
        "redress": model.to_bytes("redress"),
        "compact": model.to_bytes("compact"),
        "micropython": micropython_tables(model),
    }
    for layout in LAYOUTS:
        for number in ("float", "int16") if model.booleanizer is not None else ("float",):
            texts = make_program(model, layout, input=number, with_names=True).files
            files[f"{layout}, {number}"] = "".join(f"{k}\n{texts[k]}" for k in sorted(texts)).encode()
    return {key: hashlib.sha256(data).hexdigest()[:16] for key, data in files.items()}


def _windows(sound=False):
    """A model of raw windows, of movement or of sound, and its windows."""
    if sound:
        extractor, samples = (
            WindowFeatures({"mel": ["axes"]}, axes=("sound",), rate=16000),
            hard_windows(2048, 1, 3),
        )
    else:
        axes, units = ("ax", "ay", "az", "gx", "gy", "gz"), ("g", "g", "g", "dps", "dps", "dps")
        extractor = everything(axes=axes, rate=50, scale=(16384,) * 3 + (131,) * 3, units=units)
        samples = hard_windows(64)
    return model_of(extractor.fit(samples), samples), samples


def _learning(model, **options):
    """Both programs that learn, the quick one first."""
    asked = ExportOptions.of("test", {"learn": "votes", "learn_rows": 14, "margin": 3, **options})
    return {program.layout: program for program, _ in programs(model, asked)}


def _unknown():
    for name in ("thermometer", "Booleans"):
        model = random_model(**MODELS[name])[0].with_unknown(2)
        for layout in LAYOUTS:
            yield f"{name}, {layout}", make_program(model, layout, with_names=True)
    yield "one header", make_program(model, "sliced", single_header=True)


def _early():
    model, X = random_model(20, n_features=20, n_bins=12, n_clauses=300, longest=4)
    simple = model.simplify()
    places = [(simple.n_clauses // 3, 4), (simple.n_clauses // 2, 6)]
    early = simple._with(early=checks_of(places, simple.n_clauses))
    for number in ("float", "int16"):
        yield number, make_program(early, "straight", input=number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield "found", make_program(answering_early(model, np.tile(X, (3, 1)), 0.01), "straight")


def _seen():
    model, X = random_model(21, missing="some")
    for layout in LAYOUTS:
        yield layout, make_program(with_ranges(model, X[:40]), layout, rows=X)
    model, samples = _windows()
    yield "windows", make_program(with_ranges(model, samples), "compact")


def _of_windows():
    model, samples = _windows()
    for layout in ("compact", "fast", "straight"):
        yield layout, make_program(model, layout, rows=samples, majority=3, with_names=True)
    yield "one header", make_program(model, "straight", rows=samples, single_header=True)
    yield "unknown", make_program(model.with_unknown(3), "straight")
    yield "sound", make_program(_windows(sound=True)[0], "compact")


def _of_learning():
    for name, options in {
        "thermometer": {},
        "mixed": {"guard": False, "with_names": True},
        "missing": {"learn": "bias", "input": "int16"},
        "ignored": {"classes": 2, "anchors": 12},
        "Booleans": {"single_header": True},
    }.items():
        model, X = random_model(**MODELS[name])
        if "anchors" in options:
            options["anchors"] = X[-12:], model.predict(X[-12:])
        if name == "thermometer":
            model = with_ranges(model, X[:40])
        for layout, program in _learning(model, rows=X, **options).items():
            yield f"{name}, {layout}", program
    for layout, program in _learning(_windows()[0], majority=5).items():
        yield f"windows, {layout}", program


PARTS = {
    "unknown": _unknown,
    "early": _early,
    "seen": _seen,
    "windows": _of_windows,
    "learning": _of_learning,
}


def _hash(files):
    """SHA-256 of files, the start of it."""
    whole = hashlib.sha256()
    for path in sorted(files):
        data = files[path]
        whole.update(f"{path}\n".encode() + (data.encode() if isinstance(data, str) else data))
    return whole.hexdigest()[:16]


def part_hashes(part):
    """Hashes of programs with a part, and of all projects of each."""
    hashes = {}
    for name, program in PARTS[part]():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sizes = (program.flash_bytes, program.ram_bytes, program.costs.stack_bytes, program.entry_points)
            hashes[name] = {"C": _hash(program.files), "sizes": _hash({"": json.dumps(sizes)})}
            for project in PROJECTS:
                files = project_files(project, program)
                del files[f"{program.name}.json"]  # tests/export/test_description.py has it
                hashes[name][project] = _hash(files)
    return hashes


def package_hashes():
    """Hashes of MicroPython packages."""
    model, X = random_model(**MODELS["thermometer"])
    windows, samples = _windows()
    packages = {
        "plain": (model, {}),
        "viper": (model, {"code": "viper", "floats": "float32"}),
        "redress": (model, {"layout": "redress"}),
        "unknown": (model.with_unknown(2), {"rows": X}),
        "windows": (windows, {"rows": samples}),
        "unknown windows": (windows.with_unknown(1), {}),
        "votes": (model, {"learn": "votes", "learn_rows": 20, "margin": 2}),
        "new class": (
            model,
            {"learn": "bias", "classes": 1, "anchors": (X[:9], model.predict(X[:9])), "margin": 2},
        ),
    }
    hashes = {}
    for name, (packed, options) in packages.items():
        with tempfile.TemporaryDirectory() as parent:
            folder = micropython(packed, Path(parent) / "out", name="tiny", **options)
            files = {path.name: path.read_bytes() for path in folder.glob("[!.]*")}
            del files["tiny.json"]
            hashes[name] = _hash(files)
    return hashes


@pytest.mark.parametrize("part", PARTS)
def test_programs_with_a_part_have_the_recorded_bytes(part):
    assert part_hashes(part) == json.loads(RECORDED.read_text())[part]


def test_packages_have_the_recorded_bytes():
    assert package_hashes() == json.loads(RECORDED.read_text())["packages"]


@pytest.mark.parametrize("name", MODELS)
def test_files_have_the_recorded_bytes(name):
    assert hashes(name) == json.loads(RECORDED.read_text())[name]


if __name__ == "__main__":
    recorded = {name: hashes(name) for name in MODELS} | {part: part_hashes(part) for part in PARTS}
    RECORDED.write_text(json.dumps(recorded | {"packages": package_hashes()}, indent=1) + "\n")
    sys.exit(0)
