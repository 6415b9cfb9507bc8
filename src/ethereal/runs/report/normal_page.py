"""The page of a run with normal rows: scores over time, their histogram, detections against false alarms."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import bytes_text

if TYPE_CHECKING:
    from ethereal.runs.normal import Watched

_WIDE, _HIGH, _EDGE = 720, 220, 40
_NORMAL, _ODD = "#1b3a57", "#d9822b"  # different in grey, too
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #ddd}"
    "svg{max-width:100%;height:auto}figcaption{color:#555}"
)


def page(name: str, watched: Watched, date: str) -> str:
    """Return the page, which needs no other file."""
    w = watched
    parts = [
        f"<h1>{escape(name)}: what is normal</h1>",
        f"<p>{date}. Learned from {w.n_rows - w.n_held_out:,} normal {w.rows_are}. The figures are those of "
        f"{w.n_held_out:,} others ({escape(w.how)}). The board's detector learned from all of them.</p>",
        _table(w),
        "<h2>Scores over time</h2>",
        _figure(
            _over_time(w), "Each point is a score. The line is the limit, above which a row is not normal."
        ),
        "<h2>How often each score comes</h2>",
        _figure(_histogram(w), "Scores on a logarithmic scale, normal rows dark and abnormal ones light."),
    ]
    if w.abnormal_scores:
        caption = "Each limit gives a point. Farther up and to the left is better."
        parts += ["<h2>Detections against false alarms</h2>", _figure(_curve(w), caption)]
    if w.alarms:
        listed = "".join(f"<li>{escape(text)}</li>" for text in w.alarms)
        parts += ["<h2>What made some alarms</h2>", f"<ul>{listed}</ul>"]
    parts += [
        "<h2>What is not found</h2>",
        "<p>A fault that leaves the features as they are is not seen. What was in the rows given as normal "
        "is normal. Rows between the centres of two ways to run may look normal, too.</p>",
    ]
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(name)}</title>'
    return f"{head}<style>{_STYLE}</style>{''.join(parts)}</html>\n"


def _table(w: Watched) -> str:
    rows = [
        (
            "false alarms",
            f"{100 * w.false_alarms:.2f} % of held-out normal {w.rows_are}, {100 * w.wanted:g} % wanted",
        ),
        ("alarms per hour", "" if w.alarms_per_hour is None else f"{w.alarms_per_hour:.3g}"),
        (
            "found",
            ""
            if w.detected is None
            else f"{100 * w.detected:.1f} % of {w.n_abnormal:,} abnormal {w.rows_are}",
        ),
        ("separation", "" if w.separation is None else f"{w.separation:.3f} (1 is perfect, 0.5 is chance)"),
        ("detector", f"{w.n_centres} centres of {w.n_features} features, limit {w.limit:,}"),
        ("flash", "" if w.flash is None else f"{bytes_text(w.flash)}, all code included"),
        ("instructions", "" if w.instructions is None else f"{w.instructions:,.0f} on a {w.target}"),
    ]
    for each in w.beside:
        told = "no abnormal rows were given"
        if each.separation is not None and each.detected is not None:
            told = f"{each.separation:.3f}, finds {100 * each.detected:.1f} %"
        rows.append((each.name, f"{told}; {bytes_text(each.flash)} counted, not compiled"))
    cells = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows if b)
    return f"<table>{cells}</table>"


def _figure(drawn: str, caption: str) -> str:
    box = f'viewBox="0 0 {_WIDE} {_HIGH}" width="{_WIDE}" height="{_HIGH}" role="img"'
    label = escape(caption, quote=True)
    below = f"<figcaption>{escape(caption)}</figcaption>"
    return f'<figure><svg {box} aria-label="{label}">{drawn}</svg>{below}</figure>'


def _levels(scores: Sequence[int]) -> NDArray[np.float64]:
    return np.asarray(np.log10(1 + np.asarray(scores, dtype=float)))


def _over_time(w: Watched) -> str:
    scores = _levels([*w.scores, *w.abnormal_scores])
    top = max(float(scores.max(initial=0)), float(_levels([w.limit])[0])) * 1.05 or 1.0
    n, split = max(1, len(scores) - 1), len(w.scores)
    points = "".join(
        f'<circle cx="{_x(i / n):.1f}" cy="{_y(s / top):.1f}" r="2" fill="{_NORMAL if i < split else _ODD}"/>'
        for i, s in enumerate(scores.tolist())
    )
    line = _y(float(_levels([w.limit])[0]) / top)
    return (
        f'{points}<line x1="{_EDGE}" x2="{_WIDE - 5}" y1="{line:.1f}" y2="{line:.1f}" stroke="#a00"/>'
        + _axes("held-out normal rows, then abnormal ones", "score")
    )


def _histogram(w: Watched, n_bars: int = 40) -> str:
    sides = [(_levels(w.scores), _NORMAL), (_levels(w.abnormal_scores), _ODD)]
    top = max(float(side.max(initial=0)) for side, _ in sides) or 1.0
    counts = [(np.histogram(side, n_bars, (0, top))[0] / max(1, len(side)), colour) for side, colour in sides]
    most = max(float(count.max()) for count, _ in counts) or 1.0
    wide = (_x(1) - _x(0)) / n_bars
    bars = "".join(
        f'<rect x="{_x(i / n_bars):.1f}" y="{_y(c / most):.1f}" width="{wide - 1:.1f}" '
        f'height="{_y(0) - _y(c / most):.1f}" fill="{colour}" fill-opacity="0.6"/>'
        for count, colour in counts
        for i, c in enumerate(count.tolist())
        if c
    )
    return bars + _axes("score, larger to the right", "share")


def _curve(w: Watched) -> str:
    normal, odd = np.sort(w.scores), np.sort(w.abnormal_scores)
    limits = np.unique(np.concatenate([normal, odd, [-1]]))
    false = 1 - np.searchsorted(normal, limits, side="right") / len(normal)
    detected = 1 - np.searchsorted(odd, limits, side="right") / len(odd)
    points = " ".join(
        f"{_x(a):.1f},{_y(b):.1f}" for a, b in zip(false.tolist(), detected.tolist(), strict=True)
    )
    return f'<polyline points="{points}" fill="none" stroke="{_NORMAL}" stroke-width="2"/>' + _axes(
        "false alarms", "detections"
    )


def _x(share: float) -> float:
    return _EDGE + share * (_WIDE - _EDGE - 5)


def _y(share: float) -> float:
    return _HIGH - _EDGE - share * (_HIGH - _EDGE - 10)


def _axes(below: str, beside: str) -> str:
    return (
        f'<line x1="{_EDGE}" x2="{_WIDE - 5}" y1="{_y(0)}" y2="{_y(0)}" stroke="#888"/>'
        f'<line x1="{_EDGE}" x2="{_EDGE}" y1="10" y2="{_y(0)}" stroke="#888"/>'
        f'<text x="{_WIDE / 2}" y="{_HIGH - 10}" text-anchor="middle" font-size="13">{escape(below)}</text>'
        f'<text x="14" y="{_HIGH / 2}" font-size="13" text-anchor="middle" '
        f'transform="rotate(-90 14 {_HIGH / 2})">{escape(beside)}</text>'
    )
