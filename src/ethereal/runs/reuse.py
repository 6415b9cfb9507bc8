"""What a run takes over from another one of the same rows, whose budget alone differs.

Training does not depend on the bounds, the core, or what a model does with unknown rows. So a run with other
bounds copies the machine, the forest and the curves that pruning left, and chooses another model from them.
It finds what it would have found by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ethereal.base.atomic import write_bytes
from ethereal.model import Model
from ethereal.model.deployment import BOUNDS
from ethereal.runs.folder import RunFolder
from ethereal.runs.options import cli_fields
from ethereal.runs.results import Forest, Kernels, Learned
from ethereal.train.options import UnknownOptions
from ethereal.tuning.frontiers import BoardModel, Train, board_curves
from ethereal.tuning.kept import read_curves, write_curves
from ethereal.tuning.sources import prices_of

if TYPE_CHECKING:
    from ethereal.datasets.rows import Rows
    from ethereal.runs.pipeline import Plan

_CURVES = "curves.xz"
_MACHINES = ("machine.etm", "host.etm")
_AFTER_TRAINING = {*BOUNDS, "luts", "target", "forest", *cli_fields(UnknownOptions())}


def digest_of(rows: Rows) -> str:
    """Return the SHA-256 of rows, labels, groups and the split."""
    digest = hashlib.sha256(repr((rows.X.shape, rows.X.dtype, rows.feature_names)).encode())
    for part in (rows.X, rows.y, rows.test, rows.groups):
        if part is not None:
            plain = part.astype(str) if part.dtype == object else part
            digest.update(np.ascontiguousarray(plain).view(np.uint8).data)
    return digest.hexdigest()


def take_over(folder: RunFolder, tell: Callable[[str], None]) -> None:
    """Copy what another run beside this one trained, if it was asked for the same but for the budget."""
    if folder.result(Learned.STAGE) is not None or folder.rows is None:
        return
    wanted, kernels = folder.parameters(), folder.result(Kernels.STAGE)
    for path in sorted(folder.path.parent.iterdir(), key=lambda one: one.name):
        other = RunFolder(path)
        if path == folder.path or other.rows != folder.rows or not same_training(other.parameters(), wanted):
            continue
        if other.result(Learned.STAGE) is None or not _same_kernels(kernels, other.result(Kernels.STAGE)):
            continue
        for name in (*_MACHINES, _CURVES):
            if (path / name).exists():
                write_bytes(folder.path / name, (path / name).read_bytes())
        for stage in (Learned.STAGE, Forest.STAGE):
            result = other.result(stage)
            if result is not None and "left_out" not in result:
                folder.stage(stage, lambda result=result: result)  # type: ignore[misc]
        told = f"learn: taken from {path}, which differs in the budget alone."
        tell(told)
        folder.log(told)
        return


def same_training(one: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    """Whether the parameters of two runs differ in the budget alone, or in what comes after training.

    >>> same_training({"data": "a.csv", "flash": 900}, {"data": "a.csv", "flash": None})
    True
    """
    if one is None or other is None:
        return False
    return all(one.get(name) == other.get(name) for name in {*one, *other} - _AFTER_TRAINING)


def _same_kernels(one: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    groups = [None if kernels is None else kernels.get("groups") for kernels in (one, other)]
    return groups[0] == groups[1]


def choose(
    folder: RunFolder, rows: Rows, plan: Plan, train: Train, machine: Callable[[], Model],
    show: Callable[[float, str], None],
) -> BoardModel:  # fmt: skip
    """Return the model for the plan's budget, from the curves that the folder keeps, or from new ones."""
    path, ways, groups = folder.path / _CURVES, plan.ways, rows.groups_train
    X, y = rows.X_train, rows.y_train

    def step(done: int, total: int) -> None:
        show(done / total, f"step {done} of {total}")

    budget = plan.budget.settled()
    prices = prices_of(budget)
    curves = read_curves(path, ways, X, groups, prices)
    if curves is None:
        curves = board_curves(
            train, machine(), X, y, groups=groups, seed=plan.training.seed, ways=ways,
            n_jobs=plan.training.jobs, progress=step, prices=prices,
        )  # fmt: skip
        write_curves(path, curves)
    show(1 - 1e-9, "the choice")
    return curves.choose(budget)
