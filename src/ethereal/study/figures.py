"""The paper's figures from finished cells: PNG and SVG, readable in grey.

What tells things apart never is the colour alone: vanilla is an open circle or a dashed line, ETHEREAL a
filled square or a full line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.plotting import DARK, LIGHT, new_figure, style
from ethereal.model import Model
from ethereal.study.settings import SETTINGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Machines = Mapping[str, dict[str, Any]]  # results of the cells "vanilla" and "ethereal" of one set

_VANILLA: dict[str, Any] = {"color": LIGHT, "marker": "o", "markerfacecolor": "none"}
_ETHEREAL: dict[str, Any] = {"color": DARK, "marker": "s"}


def tradeoff(results: Mapping[str, Machines], *, rows: str) -> Figure:
    """Accuracy against includes per clause, a point per epoch, a panel per set.

    `rows` says on which rows the epoch was chosen.
    """
    columns = min(4, len(results))
    lines = math.ceil(len(results) / columns)
    with style():
        width = 2.9 * columns + 0.4
        figure = new_figure(width, 2.5 * lines + 1.0)
        panels = figure.subplots(lines, columns, squeeze=False)
        for axes, (name, machines) in zip(panels.flat, results.items(), strict=False):
            _tradeoff_panel(axes, name, machines)
        for axes in panels.flat[len(results) :]:
            axes.set_visible(False)
        for axes in panels[:, 0]:
            axes.set_ylabel("test accuracy [%]")
        handles, labels = panels.flat[0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=max(n for n in (1, 2, 3, 6) if n == 1 or 2 * n <= width),
        )
        figure.suptitle(f"Accuracy against size after every epoch ({rows})")
    return figure


def _tradeoff_panel(axes: Axes, name: str, machines: Machines) -> None:
    settings = SETTINGS[name]
    for machine, look, label in (("vanilla", _VANILLA, "vanilla TM"), ("ethereal", _ETHEREAL, "ETHEREAL")):
        run = _Run(machines[machine])
        x, y = run.includes[run.trained], run.test[run.trained]
        axes.plot(x, y, linestyle="none", markersize=3, alpha=0.45, label=f"{label}, an epoch", **look)
        best = _chosen(run.chosen_by[run.trained], x)
        strong = look | {"markerfacecolor": look["color"], "markeredgecolor": "black"}
        axes.plot(x[best], y[best], markersize=8, linestyle="none", label=f"{label}, chosen epoch", **strong)
        published = settings.published
        if getattr(published, machine) is None:  # a set of your own
            continue
        axes.plot(
            getattr(published, f"{machine}_includes"),
            getattr(published, machine),
            marker="+" if machine == "ethereal" else "x",
            color="black",
            markersize=8,
            linestyle="none",
            label=f"{label}, published",
        )
    axes.set_title(name)
    axes.set_xlabel("includes per clause")
    axes.set_xlim(left=0)
    # The first epochs are far below: show where the machines end.
    runs = [_Run(result) for result in machines.values()]
    shown = np.concatenate([run.test[run.trained] for run in runs])
    both = settings.published.vanilla, settings.published.ethereal
    marks = [accuracy for accuracy in both if accuracy is not None]
    low = min([float(np.quantile(shown, 0.1)), *marks]) - 1
    high = max([float(shown.max()), *marks]) + 1
    axes.set_ylim(low, high)


def saw_tooth(machines: Machines, name: str) -> Figure:
    """Test accuracy and includes per clause over the epochs, exclusions as the drops of a saw."""
    with style():
        figure = new_figure(7.0, 5.2)
        above, below = figure.subplots(2, 1, sharex=True)
        for machine, line, color, label in (
            ("vanilla", "--", LIGHT, "vanilla TM"),
            ("ethereal", "-", DARK, "ETHEREAL"),
        ):
            run = _Run(machines[machine])
            trained, excluded = run.trained, ~run.trained
            above.plot(run.epoch[trained], run.test[trained], line, color=color, label=label)
            below.plot(run.epoch, run.includes, line, color=color, label=label, linewidth=1)
            if excluded.any():
                label = "ETHEREAL, after an exclusion"
                below.plot(run.epoch[excluded], run.includes[excluded], "v", color=color, ms=3, label=label)
        above.set_ylabel("test accuracy [%]")
        below.set_ylabel("includes per clause")
        below.set_xlabel("epoch")
        below.set_ylim(bottom=0)
        handles, labels = below.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        figure.suptitle(f"{name}: training with and without exclusion")
    return figure


def heat_maps(vanilla: Model, ethereal: Model, shape: tuple[int, int]) -> Figure:
    """Includes per pixel, plain and negated together, of every class's positive and negative clauses.

    Two rows of pictures per machine (positive, negative), a column per class; one scale for all.
    """
    maps = [
        (label, _pixel_counts(m, shape)) for label, m in (("vanilla TM", vanilla), ("ETHEREAL", ethereal))
    ]
    n_classes = maps[0][1].shape[0]
    most = max(float(np.quantile(counts, 0.999)) for _, counts in maps)
    with style(**{"axes.grid": False}):
        figure = new_figure(1.0 * n_classes + 1.6, 4.6)
        panels = figure.subplots(4, n_classes, squeeze=False)
        for block, (label, counts) in enumerate(maps):
            for polarity, sign in enumerate(("positive", "negative")):
                for c in range(n_classes):
                    axes = panels[2 * block + polarity, c]
                    picture = axes.imshow(counts[c, polarity], cmap="Greys", vmin=0, vmax=max(most, 1))
                    axes.set_xticks([])
                    axes.set_yticks([])
                    for spine in axes.spines.values():
                        spine.set_visible(True)
                        spine.set_color("0.6")
                    if block == 0 and polarity == 0:
                        axes.set_title(f"class {vanilla.classes[c]}")
                panels[2 * block + polarity, 0].set_ylabel(f"{label}\n{sign} clauses")
        bar = figure.colorbar(picture, ax=panels.ravel().tolist(), shrink=0.8, extend="max")
        bar.set_label("includes of the pixel, plain and negated")
        figure.suptitle("Where the includes are")
    return figure


class _Run:
    """A machine's history as arrays, an entry per epoch and per exclusion."""

    def __init__(self, result: dict[str, Any]) -> None:
        history = result["history"]
        self.epoch = np.array(history["epoch"], dtype=float)
        self.trained = np.array([phase == "train" for phase in history["phase"]])
        self.includes = np.array(history["includes"], dtype=float) / result["clauses"]  # per clause
        self.chosen_by = np.array(history["chosen_by"], dtype=float)
        self.test = 100 * np.array(history["test"], dtype=float)  # percent


def _chosen(accuracy: NDArray[np.float64], includes: NDArray[np.float64]) -> int:
    """The epoch that is kept: the best accuracy, fewer includes on a tie."""
    return int(np.lexsort((includes, -accuracy))[0])


def _pixel_counts(model: Model, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Includes per pixel: classes x polarity x height x width."""
    per_boolean = model.literal_counts().reshape(model.n_classes, 2, 2, model.n_booleans).sum(axis=2)
    counts = np.zeros((model.n_classes, 2, shape[0] * shape[1]), dtype=np.int64)
    for boolean, feature in enumerate(
        model.feature_map.feature
    ):  # a pixel may have several Booleans, or none
        counts[:, :, feature] += per_boolean[:, :, boolean]
    return counts.reshape(model.n_classes, 2, *shape)
