"""Files of ten fixed models have the bytes that were recorded, whatever is moved or renamed in the package.

A change that is meant to alter an export records them again:

    PYTHONPATH=tests/support python tests/whole/test_same_bytes.py
"""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from ethereal.export import LAYOUTS, make_program
from ethereal.export.mpy.tables import micropython_tables
from ethereal.model.file import to_file_bytes
from random_models import random_model

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


@pytest.mark.parametrize("name", MODELS)
def test_files_have_the_recorded_bytes(name):
    assert hashes(name) == json.loads(RECORDED.read_text())[name]


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({name: hashes(name) for name in MODELS}, indent=1) + "\n")
    sys.exit(0)
