"""Every consumer of models refuses by name what it does not support, and copies keep what a model needs."""

import ast
import copy
import pickle
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from ethereal import Booleanizer, Model, compress, device, export, prune
from ethereal.adapt import Votes
from ethereal.compress.curve import PruneRows, prune_path
from ethereal.model import Number, codes, engine, simplify
from ethereal.model.clauses import MEANINGS, Clauses
from ethereal.model.linear import Linear, Slope
from ethereal.model.needs import NotSupported
from ethereal.model.output import LinearNumber
from ethereal.model.patch import Patch
from ethereal.runs.report import figures
from ethereal.runs.report.page import Report, render
from ethereal.tuning.footprint import estimate
from ethereal_study.micropython import measure_micropython

SRC = Path(__file__).parents[2] / "src"
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, dtype=bool)
Y = np.array(["a", "b", "a", "b"] * 3)
PLAIN = Model([0, 1, 3], [0, 2, 3], [[1, -7], [2, 0]], n_booleans=2, classes=["a", "b"])
ROWS = PruneRows.read(PLAIN, X, Y)


@dataclass(frozen=True)
class Value:
    """The first sum as a number: an output that no consumer knows."""

    labels: Any = field(compare=False)
    kind: ClassVar[str] = "value"

    def codes(self, sums):
        return np.asarray(sums[:, 0], dtype=np.int64)

    def answers(self, sums):
        return sums[:, 0] / 2

    def loss(self, sums, wanted, scale):
        return np.abs(sums[:, 0] - wanted).astype(np.float32)


def _or() -> Model:
    clause = PLAIN.clauses
    return PLAIN._with(clauses=Clauses._trusted(clause.literals, clause.offsets, clause.weights, 2, "or"))


def _patch() -> Model:
    clause = PLAIN.clauses
    patch = Patch((1, 1), (1, 1), 2)  # a whole row, so that only the record differs
    parts = clause.literals, clause.offsets, clause.weights, 2, "and", patch
    return PLAIN._with(clauses=Clauses._trusted(*parts))


def _number() -> Model:
    return Model.of(PLAIN.clauses.voting(PLAIN.weights[:, :1]), output=Number(scale=0.5))


def _line() -> Model:
    booleanizer = Booleanizer(thresholds=[0.5]).fit(np.zeros((1, 2)))
    number = LinearNumber(scale=256.0, linear=Linear(1.0, (Slope(0, 300, -4, 0, 16),)))
    return Model.of(_number().clauses, output=number, booleanizer=booleanizer)


def _report(model: Model) -> Report:
    return Report("t", "", model, X, np.arange(len(X)) / 2 if model.is_number else Y)


STRANGE = {"or": _or, "value": lambda: PLAIN._with(output=Value(PLAIN.classes)), "number": _number}
STRANGE |= {"images": _patch, "linear number": _line}
# Consumers that take a patch. Whoever learns it comes here.
TAKE_PATCHES = {"predict", "class_sums", "clause_outputs", "simplify", "predict_proba", "rules", "describe"}
TAKE_PATCHES |= {
    "with_normal",
    "importances",
    "explain",
    "with_unknown",
    "save",
    "prune",
    "descend",
    "choose",
    "estimate",
    "statistics",
}
# Per consumer, what it must call itself. The first two are what the others build on.
BELOW = {
    "predict": ("prediction", lambda m, to: m.predict(X)),
    "class_sums": ("prediction", lambda m, to: m.class_sums(X)),
    "clause_outputs": ("prediction", lambda m, to: m.clause_outputs(X)),
    "simplify": ("simplification", lambda m, to: m.simplify()),
}
ABOVE = {
    "predict_proba": ("predict_proba", lambda m, to: m.predict_proba(X)),
    "rules": ("rules", lambda m, to: m.rules()),
    "describe": ("rules", lambda m, to: m.describe()),
    "importances": ("feature importances", lambda m, to: m.feature_importances()),
    "explain": ("an explanation", lambda m, to: m.explain(X[0])),
    "statistics": ("clause_statistics", lambda m, to: m.clause_statistics(X, Y)),
    "with_unknown": ("with_unknown", lambda m, to: m.with_unknown(1)),
    "with_normal": ("with_normal", lambda m, to: m.with_normal(X, Y)),
    "save": ("a model file", lambda m, to: m.save(to / "m.etm")),
    "compact": ("the compact code", lambda m, to: m.to_bytes("compact")),
    "redress": ("the REDRESS code", lambda m, to: m.to_bytes("redress")),
    "sizes": ("the compact code", lambda m, to: codes.sizes(m)),
    "estimate": ("the compact code", lambda m, to: estimate(m)),
    "shorten": ("shortening", lambda m, to: compress.shorten(m, X)),
    "join": ("joining", lambda m, to: compress.join([PLAIN, m])),
    "prune": ("pruning", lambda m, to: prune(m, X, np.arange(12.0) if m.is_number else Y)),
    "descend": ("pruning", lambda m, to: prune_path(m, ROWS, ROWS, "votes", estimate, 0)),
    **{
        layout: (f"layout {layout}", lambda m, to, layout=layout: export.c(m, to / "c", layout=layout))
        for layout in export.LAYOUTS
    },
    "choose": ("layout ", lambda m, to: export.choose(m)),
    "measure": ("layout fast", lambda m, to: device.measure(m, X, layout="fast")),
    "votes": ("learning on the board", lambda m, to: Votes(m, margin=1)),
    "learn": ("learning on the board", lambda m, to: export.choose(m, learn="votes", margin=1)),
    "micropython": ("MicroPython", lambda m, to: export.micropython(m, to / "mpy")),
    "verilog": ("Verilog", lambda m, to: export.verilog(m, to / "v")),
    "tinytapeout": ("(Verilog|Tiny Tapeout)", lambda m, to: export.tinytapeout(m, to / "t")),
    "measure_micropython": ("the REDRESS code", lambda m, to: measure_micropython(m, X, object())),
    "web": ("the page of an export", lambda m, to: export.web(m, to / "m.html")),
    "page": ("the page", lambda m, to: render(_report(m))),
    "figures": ("the page", lambda m, to: list(figures.of_report(_report(m)))),
}

# Who takes a number. All others refuse it.
NUMBERS = {*BELOW, "rules", "describe", "importances", "explain", "save", "sizes", "estimate", "shorten",
           "choose", "measure", "micropython", "verilog", "page", "web", "figures", "prune",
           *(layout for layout in export.LAYOUTS if layout != "sliced")}  # fmt: skip
# And who takes one with a linear part.
LINES = (NUMBERS - {"measure", "micropython", "verilog", *export.LAYOUTS}) | {"straight"}


def supporting():
    """Yield the place of every `Supports` at the top of a module, and what the consumer calls itself."""
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            call = getattr(node, "value", None)
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Supports":
                yield f"{path.relative_to(SRC)}:{node.lineno}", ast.literal_eval(call.args[0])


def test_every_consumer_is_in_the_list():
    asked = [name for name, _ in (BELOW | ABOVE).values()]
    consumers = dict(supporting())
    assert len(consumers) > 12
    missing = {place: consumer for place, consumer in consumers.items()
               if not any(f"{name} ".startswith(f"{consumer} ") for name in asked)}  # fmt: skip
    assert not missing


def refuses_number(name, use, folder, strange, is_taken):
    """A number is taken, or refused like what nobody knows. The message may name other layouts."""
    if is_taken:
        assert use(STRANGE[strange](), folder) is not False
        return
    with pytest.raises(NotSupported, match=rf"^{name}.* does not take .* '{strange}'\."):
        use(STRANGE[strange](), folder)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("consumer", [*BELOW, *ABOVE])
def test_every_consumer_refuses_by_name(consumer, strange, tmp_path, monkeypatch):
    name, use = (BELOW | ABOVE)[consumer]
    if strange == "images" and consumer in TAKE_PATCHES:
        use(STRANGE[strange](), tmp_path)
        return
    if strange in ("number", "linear number"):
        if consumer == "descend":
            pytest.skip("the rows of this test have classes")
        takers = NUMBERS if strange == "number" else LINES
        refuses_number(name, use, tmp_path, strange, is_taken=consumer in takers)
        return
    if consumer in ABOVE:  # as if prediction and simplification had learned it: nobody may rely on them
        for module in (engine, simplify):
            taken = {"meanings": frozenset(MEANINGS) | {"or"}, "outputs": frozenset({"classes", "value"})}
            monkeypatch.setattr(module, "SUPPORTS", replace(module.SUPPORTS, **taken))
    with pytest.raises(NotSupported, match=rf"^{name}.* does not take .* {strange!r}\.( Export it as C\.)?$"):
        use(STRANGE[strange](), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("strange", STRANGE)
def test_copies_keep_what_a_model_needs(strange, monkeypatch):
    monkeypatch.setitem(MEANINGS, "or", np.logical_or)
    model = STRANGE[strange]()
    copies = [
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        model.with_clauses(model.literals, model.offsets, model.weights),
        model.with_feature_names(["p", "q"]).with_feature_names(None),
        model.with_typical_rows(None),
        model.with_temperature(3.0),
    ]
    for one in copies:
        assert one.needs == model.needs != PLAIN.needs
        assert one == model != PLAIN
        assert one.is_number or not one.classes.flags.writeable
        assert not one.literals.flags.writeable


def test_a_meaning_is_a_line_and_unknown_ones_are_refused(monkeypatch):
    parts = PLAIN.clauses.literals, PLAIN.clauses.offsets, PLAIN.clauses.weights, 2
    with pytest.raises(ValueError, match=r"meaning is 'nor'"):
        Clauses(*parts, "nor")
    monkeypatch.setitem(MEANINGS, "or", np.logical_or)
    some = Clauses(*parts, "or").fires(X[:4])
    assert some.tolist() == [[False, True], [True, False], [True, True], [True, False]]
    with pytest.raises(ValueError, match="meaning, Booleans"):
        Clauses.concatenate([PLAIN.clauses, Clauses(*parts, "or")])


def test_predict_answers_by_the_output(monkeypatch):
    taken = replace(engine.SUPPORTS, outputs=frozenset({"classes", "value"}))
    monkeypatch.setattr(engine, "SUPPORTS", taken)
    model = STRANGE["value"]()
    assert np.array_equal(model.predict(X), model.class_sums(X)[:, 0] / 2)
