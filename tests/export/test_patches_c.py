"""The C of clauses over patches answers as the host does: compiled here, and on emulated cores."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest

from ethereal import Booleanizer, device, export
from ethereal.base.checks import DoesNotFit
from ethereal.export.c99.device_rows import NUMBER_TYPES
from ethereal.model import Clauses, Model, Patch
from ethereal.model.needs import NotSupported
from random_patches import random_patch_model
from thinned import few

FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]


@pytest.mark.parametrize("first", few(range(0, 120, 12)))
def test_sums_and_classes_are_those_of_the_host(tmp_path, first):
    programs = []
    for seed in range(first, first + 12):
        model, X = random_patch_model(seed, widest=64)
        if not model.simplify().n_clauses:
            continue
        if seed % 4 == 1:  # votes that share a byte with their class, and are several of these
            model = model.with_clauses(model.literals, model.offsets, 4 * model.weights)
        kind = list(NUMBER_TYPES)[seed % len(NUMBER_TYPES)]
        if kind.startswith("u") and model.fitted is not None:
            kind = "int16"
        layout = ("patches", "patch_code")[seed % 12 // 6]
        program = export.choose(model, layout, name=f"p{seed}", input=kind)
        for name, text in program.files.items():
            (tmp_path / name).write_text(text)
        programs.append((program, X))
    assert len(programs) > 8
    sources = [str(tmp_path / f"{program.name}.c") for program, _ in programs]
    library = tmp_path / "all.so"
    subprocess.run(["gcc", *FLAGS, "-fPIC", "-shared", *sources, "-o", str(library)], check=True)
    made = ctypes.CDLL(str(library))
    for program, X in programs:
        features = np.ascontiguousarray(program.features(X))
        expected, sums = program.model.class_sums(X), np.zeros(program.model.n_classes, dtype=np.int32)
        predict, class_sums = (getattr(made, f"{program.name}_{what}") for what in ("predict", "class_sums"))
        assert getattr(made, f"{program.name}_check_all")() == 1
        for row, wanted in zip(features, expected, strict=True):
            class_sums(row.ctypes.data_as(ctypes.c_void_p), sums.ctypes.data_as(ctypes.c_void_p))
            assert np.array_equal(sums, wanted), program.name
            assert predict(row.ctypes.data_as(ctypes.c_void_p)) == wanted.argmax()


@pytest.mark.parametrize("layout, target", [("patches", "cortex-m0plus"), ("patch_code", "cortex-m7")])
def test_cores_give_the_answers_of_the_host(layout, target):
    model, X = random_patch_model(4, widest=30)
    measured = device.measure(model, X, layout=layout, target=target, worst=True)
    assert measured.agreement == 1
    assert measured.ram_bytes == 0
    assert measured.instructions_max <= measured.worst_instructions <= 1.5 * measured.instructions_max


def test_the_chooser_takes_code_where_there_is_flash_for_it():
    model, _ = random_patch_model(4, widest=30, n_clauses=200)
    assert export.choose(model, flash=100_000).layout == "patch_code"
    assert export.choose(model, flash=3500).layout == "patches"


def test_what_the_layout_cannot_hold_is_refused_by_name():
    patch = Patch((65,), (2,), 1)
    wide = Model([0], [0, 1], [[1, 0]], n_booleans=2, classes=["a", "b"], patch=patch)
    with pytest.raises(NotSupported, match="up to 64 cells"):
        export.choose(wide)
    cell = Booleanizer(n_bins=3, encoding="onehot").fit([[0.0], [1.0], [2.0]])
    assert cell.feature_map_.is_binned.all()
    binned = Model.of(
        Clauses([0], [0, 1], [[1, 0]], 3, patch=Patch((1,), (1,), 3)), classes=["a", "b"], booleanizer=cell
    )
    with pytest.raises(NotSupported, match="one-hot"):
        export.choose(binned)
    model, _ = random_patch_model(4)
    with pytest.raises(NotSupported, match="does not take a patch over 'images'"):
        export.choose(model, "fast")
    with pytest.raises(DoesNotFit):
        export.choose(model, flash=100)
