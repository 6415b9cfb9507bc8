"""The paper's figures from finished cells: PNG and SVG, readable in grey.

What tells things apart never is the colour alone: vanilla is an open circle or a dashed line, ETHEREAL a
filled square or a full line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ethereal.base.plotting import DARK, LIGHT, new_figure, style
from ethereal.model import Model
from ethereal_study.settings import SETTINGS

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
    """Test accuracy and includes per clause over the epochs, after every training and every exclusion.

    Exclusions are the drops of a saw. The panels at the right enlarge the last epochs.
    """
    runs = {method: _Run(machines[method]) for method in ("vanilla", "ethereal")}
    last = float(runs["ethereal"].epoch.max())
    first = max(0.0, last - max(4.0, last / 5))
    with style():
        figure = new_figure(8.6, 5.4)
        panels = figure.subplots(2, 2, sharex="col", width_ratios=(1.6, 1))
        for column, (start, points) in enumerate(((0.0, False), (first, True))):
            above, below = panels[:, column]
            for method, run in runs.items():
                shown = run.epoch >= start
                _saw_line(above, method, run.epoch, run.test, shown, run.trained, points)
                _saw_line(below, method, run.epoch, run.includes, shown, run.trained, points)
            below.set_xlabel("epoch")
        figure.align_ylabels(panels[:, 0])
        panels[0, 0].set(ylabel="test accuracy [%]", title="all epochs")
        panels[0, 1].set_title(f"enlarged: epochs {first:.0f} to {last:.0f}")
        panels[1, 0].set(ylabel="includes per clause", ylim=(0, None))
        # The first epochs are far below. What follows them is what differs.
        late = np.concatenate([run.test[run.epoch > last / 10] for run in runs.values()])
        panels[0, 0].set_ylim(float(late.min()) - 1, float(late.max()) + 1)
        handles, labels = panels[0, 1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        figure.suptitle(f"{name}: training with and without exclusion")
    return figure


def _saw_line(
    axes: Axes,
    method: str,
    epoch: NDArray[np.float64],
    values: NDArray[np.float64],
    shown: NDArray[np.bool_],
    trained: NDArray[np.bool_],
    points: bool,
) -> None:
    """Draw one machine. The line goes through every exclusion, which has a mark, as training has one."""
    if method == "vanilla":
        axes.plot(epoch[shown], values[shown], "--", color=LIGHT, label="vanilla TM")
        return
    axes.plot(epoch[shown], values[shown], "-", color=DARK, linewidth=0.7, label="ETHEREAL")
    size = 4 if points else 2
    for phase, mark, label in ((trained, "s", "after training"), (~trained, "v", "after an exclusion")):
        marked, face = shown & phase, DARK if mark == "s" else "white"
        axes.plot(
            epoch[marked], values[marked], mark, color=DARK, markerfacecolor=face, ms=size, mew=0.8,
            label=f"ETHEREAL, {label}",
        )  # fmt: skip


def heat_maps(
    vanilla: Model,
    ethereal: Model,
    shape: tuple[int, int],
    *,
    literals: Literal["all", "negated"] = "all",
    class_: int | None = None,
) -> Figure:
    """Includes per pixel of positive and negative clauses, of both machines, on one scale.

    For one class it has four pictures, positive beside negative clauses. For all classes it has a column for
    each of them, and two rows per machine.
    """
    maps = [_pixel_counts(model, shape, literals) for model in (vanilla, ethereal)]
    most = max(1.0, *(float(np.quantile(counts, 0.999)) for counts in maps))
    machines, signs = ("vanilla TM", "ETHEREAL"), ("positive", "negative")
    with style(**{"axes.grid": False}):
        if class_ is None:
            n_classes = len(vanilla.classes)
            figure = new_figure(1.0 * n_classes + 1.8, 5.0)
            panels = figure.subplots(4, n_classes, squeeze=False)
            pictures = np.concatenate([counts.swapaxes(0, 1) for counts in maps])  # rows x classes x ...
            heads = [f"class {label}" for label in vanilla.classes]
            sides = [f"{machine}\n{sign}" for machine in machines for sign in signs]
        else:
            figure = new_figure(6.0, 5.6)
            panels = figure.subplots(2, 2)
            pictures = np.stack([counts[class_] for counts in maps])
            heads, sides = [f"{sign} clauses" for sign in signs], list(machines)
        for place in np.ndindex(panels.shape):
            axes: Any = panels[place]
            picture = axes.imshow(pictures[place], cmap="Greys", vmin=0, vmax=most)
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set(visible=True, color="0.6")
        for axes, head in zip(panels[0], heads, strict=True):
            axes.set_title(head)
        for axes, side in zip(panels[:, 0], sides, strict=True):
            axes.set_ylabel(side)
        bar = figure.colorbar(picture, ax=panels.ravel().tolist(), shrink=0.8, extend="max")
        kind = "negated literals" if literals == "negated" else "literals, plain and negated"
        bar.set_label(f"includes of the pixel's {kind}")
        which = "" if class_ is None else f": class {vanilla.classes[class_]}, {kind}"
        figure.suptitle(f"Where the includes are{which}")
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


def _pixel_counts(model: Model, shape: tuple[int, int], literals: str = "all") -> NDArray[np.int64]:
    """Includes per pixel: classes x polarity x height x width."""
    counts_of = model.literal_counts(weighted=True)  # includes of all clauses, equal ones too
    kinds = counts_of.reshape(model.n_classes, 2, 2, model.n_booleans)  # plain, then negated
    per_boolean = kinds[:, :, 1] if literals == "negated" else kinds.sum(axis=2)
    counts = np.zeros((model.n_classes, 2, shape[0] * shape[1]), dtype=np.int64)
    for boolean, feature in enumerate(
        model.feature_map.feature
    ):  # a pixel may have several Booleans, or none
        counts[:, :, feature] += per_boolean[:, :, boolean]
    return counts.reshape(model.n_classes, 2, *shape)
