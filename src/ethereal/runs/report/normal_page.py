"""The page of a run with normal rows: figures, scores over time, their histogram, and what made alarms.

Texts of a chart are HTML at places in percent, so that they keep their size on a small screen while the
drawing is stretched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from ethereal.base.checks import bytes_text
from ethereal.runs.watched import Watched, percent

_STYLE = """
:root{color-scheme:light dark;--ink:#222;--quiet:#5a5a5a;--line:#ccc;--paper:#fff;--a:#1b4f8a;--b:#c25a00;--c:#777}
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--quiet:#aaa;--line:#444;--paper:#161616;--a:#7ab4f5;--b:#ff9d4d;--c:#999}}
body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:1.5rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}
h2{margin-top:2rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse}
td,th{padding:.25rem .9rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right}td.n{white-space:nowrap}
@media(max-width:30rem){td,th{padding-right:.5rem}}
figure{margin:.5rem 0 1rem}
figcaption,.quiet{color:var(--quiet)}
.chart{position:relative;height:15rem;margin:1rem .5rem 2.8rem 3.4rem;border-left:1px solid var(--c);border-bottom:1px solid var(--c)}
.chart svg{position:absolute;width:100%;height:100%;overflow:visible}
.chart span{position:absolute;font-size:13px;line-height:1;white-space:nowrap;color:var(--quiet)}
.x{top:calc(100% + .4rem);transform:translateX(-50%)}
.y{right:calc(100% + .4rem);transform:translateY(50%)}
.name{top:calc(100% + 1.6rem);left:50%;transform:translateX(-50%)}
.limit{left:.3rem;transform:translateY(-.3rem);color:var(--ink)!important}
path,line{vector-effect:non-scaling-stroke;fill:none}
.dot{stroke-width:4;stroke-linecap:round}
.a{stroke:var(--a)}.b{stroke:var(--b)}.c{stroke:var(--c)}
rect.a{fill:var(--a);stroke:none;fill-opacity:.65}rect.b{fill:var(--b);stroke:none;fill-opacity:.65}
.key b{font-weight:normal;border-bottom:3px solid}.key .a{border-color:var(--a)}.key .b{border-color:var(--b)}.key .c{border-color:var(--c)}
"""  # fmt: skip  # noqa: E501
_TICKS = (0.001, 0.01, 0.1, 0.3, 1, 3, 10, 30, 100, 1000, 10_000)


class _Log(NamedTuple):
    """A logarithmic scale of scores in parts of the limit."""

    low: float
    high: float

    def at(self, score: float) -> float:
        """Return the place in percent of the length."""
        inside = min(max(score, self.low), self.high)
        return 100 * math.log(inside / self.low) / math.log(self.high / self.low)

    @property
    def ticks(self) -> dict[str, float]:
        return {f"{tick:g}": self.at(tick) for tick in _TICKS if self.low <= tick <= self.high}


def page(name: str, watched: Watched, date: str) -> str:
    """Return the page, which needs no other file."""
    w = watched
    scale = _Log(w.edges[0], w.edges[-1])
    key = _key("a", f"normal {w.rows_are}") + (_key("b", f"abnormal {w.rows_are}") if w.n_abnormal else "")
    parts = [
        f"<h1>{escape(name)}: what is normal</h1>",
        f"<p>{date}. A detector learned from {w.n_rows - w.n_held_out:,} normal {w.rows_are}. The figures "
        f"are those of {w.n_held_out:,} others ({escape(w.how)}). The board's detector learned from all.</p>",
        "".join(f"<p><strong>{escape(doubt)}</strong></p>" for doubt in w.doubts),
        _facts(w),
        _beside(w),
        "<h2>Scores over time</h2>",
        _figure(_over_time(w, scale), f"{key} In parts of the limit. A point is the highest of a stretch."),
        "<h2>How often each score comes</h2>",
        _figure(_histogram(w, scale), f"{key} The scale is logarithmic."),
        _curves(w),
        _reasons(w),
        _groups(w),
        "<h2>What is not detected</h2>",
        "<p>A fault that leaves the features as they are is not seen. What was in the rows given as normal "
        "is normal. Rows between the centres of two ways to run may look normal, too.</p>",
    ]  # fmt: skip
    head = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(name)}: what is normal</title>"
    )
    return f"{head}<style>{_STYLE}</style>{''.join(parts)}</html>\n"


def _facts(w: Watched) -> str:
    held_out, abnormal = f"{w.n_held_out:,} held-out normal", f"{w.n_abnormal:,} abnormal {w.rows_are}"
    rows = {
        "false alarms": f"{percent(w.false_alarms)} of {held_out} {w.rows_are}, {percent(w.wanted)} wanted",
        "by group": w.spread,
        "alarms per hour": w.hours,
        "detected": "" if w.detected is None else f"{percent(w.detected)} of {abnormal}",
        "detector": f"{w.n_centres} centres of {w.n_features} features, limit {w.limit:,}",
    }
    return _table(((name, text) for name, text in rows.items() if text), ())


def _beside(w: Watched) -> str:
    """Return the table of detectors, with those columns that have figures."""
    columns = {
        "separation": [None if one.separation is None else f"{one.separation:.3f}" for one in w.scored],
        f"detected at {percent(w.wanted)}": [
            None if one.detected is None else percent(one.detected) for one in w.scored
        ],
        "flash": [None if one.flash is None else bytes_text(one.flash) for one in w.scored],
        "instructions": [
            None if one.instructions is None else f"{one.instructions:,.0f}" for one in w.scored
        ],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    if not columns:
        return ""
    rows = zip((one.name for one in w.scored), *columns.values(), strict=True)
    note = f"Compiled for a {w.target} and executed there, from what the board reads to the answer."
    if w.n_abnormal:
        note = f"A separation of 1 is perfect, and 0.5 is chance. {note}"
    table = _table(rows, ("", *columns))
    return f"<h2>Beside other detectors</h2>{table}<p class=quiet>{note}</p>"


def _over_time(w: Watched, scale: _Log) -> str:
    n = max(1, len(w.scores) + len(w.abnormal_scores) - 1)

    def dots(scores: Sequence[float], first: int, kind: str) -> str:
        places = (
            f"M{100 * (first + i) / n:.2f} {100 - scale.at(score):.2f}h0" for i, score in enumerate(scores)
        )
        return f'<path class="dot {kind}" d="{"".join(places)}"/>'

    drawn = dots(w.scores, 0, "a") + dots(w.abnormal_scores, len(w.scores), "b")
    limit = 100 - scale.at(1)
    drawn += f'<line class=c x1=0 x2=100 y1="{limit:.2f}" y2="{limit:.2f}"/>'
    name = f"held-out normal {w.rows_are}" + (", then abnormal ones" if w.n_abnormal else ", in their order")
    texts = f'<span class=limit style="bottom:{scale.at(1):.2f}%">limit</span>'
    return _chart(drawn, {}, scale.ticks, name, texts)


def _histogram(w: Watched, scale: _Log) -> str:
    most = max(max(bar) for bar in w.bars) or 1.0
    drawn = ""
    for which, kind in ((0, "a"), (1, "b")):
        for left, right, bar in zip(w.edges, w.edges[1:], w.bars, strict=False):
            if bar[which]:
                x, wide, high = scale.at(left), scale.at(right) - scale.at(left), 100 * bar[which] / most
                drawn += f'<rect class={kind} x="{x:.2f}" y="{100 - high:.2f}" width="{wide:.2f}" height="{high:.2f}"/>'  # fmt: skip  # noqa: E501
    drawn += f'<line class=c x1="{scale.at(1):.2f}" x2="{scale.at(1):.2f}" y1=0 y2=100 />'
    ticks = {"0": 0.0, percent(most): 100.0}
    return _chart(drawn, scale.ticks, ticks, "score in parts of the limit")


def _curves(w: Watched) -> str:
    """Return detections against false alarms, of all detectors."""
    if not w.n_abnormal:
        return ""
    drawn, keys = "", ""
    for one, kind in reversed(list(zip(w.scored, "abc", strict=False))):
        steps = ""
        for false, detected in one.curve:
            steps += f"{'L' if steps else 'M'}{100 * math.sqrt(false):.2f} {100 - 100 * detected:.2f}"
        drawn += f'<path class={kind} stroke-width=2 d="{steps}"/>'
        keys = _key(kind, one.name) + keys
    x = {f"{tick:g} %": 10 * math.sqrt(tick) for tick in (0, 1, 5, 20, 50, 100)}
    y = {f"{tick} %": float(tick) for tick in (0, 50, 100)}
    drawing = _chart(drawn, x, y, "false alarms (the few are drawn wider)")
    caption = f"{keys} Each limit gives a point. Farther up and to the left is better."
    return f"<h2>Detections against false alarms</h2>{_figure(drawing, caption)}"


def _reasons(w: Watched) -> str:
    if not w.alarms:
        return ""
    shares = _table(((name, f"{100 * share:.0f} %") for name, share in w.reasons), ("feature", "share"))
    listed = "".join(f"<li>{escape(text)}</li>" for text in w.alarms)
    return (
        f"<h2>What made the alarms</h2><p>These features have the largest shares of the scores:</p>{shares}"
        f"<p>Some alarms, with the usual values beside them:</p><ul>{listed}</ul>"
    )


def _groups(w: Watched) -> str:
    if not w.by_group:
        return ""
    rows = ((name, percent(share)) for name, share in w.by_group[:12])
    more = f" The first 12 of {len(w.by_group)} are shown." if len(w.by_group) > 12 else ""
    return (
        "<h2>False alarms by group</h2><p>Each group was left out in turn, and scored by a detector of the "
        f"others.{more} If a few have most alarms, let each board learn its own normal.</p>"
        f"{_table(rows, ('group', 'false alarms'))}"
    )


def _table(rows: object, head: Sequence[str]) -> str:
    """Return a table, whose first column has names. With a head the others are figures."""
    kind = " class=n" if head else ""
    top = "".join(f"<th{kind if i else ''}>{escape(text)}</th>" for i, text in enumerate(head))
    body = ""
    for first, *rest in rows:  # type: ignore[attr-defined]
        cells = "".join(f"<td{kind}>{escape(text or '')}</td>" for text in rest)
        body += f"<tr><th scope=row>{escape(first)}</th>{cells}</tr>"
    return f"<div class=scroll><table>{f'<tr>{top}</tr>' if head else ''}{body}</table></div>"


def _chart(drawn: str, x: dict[str, float], y: dict[str, float], name: str, more: str = "") -> str:
    """Return a drawing on 100 x 100 with ticks, which map texts to places in percent."""
    texts = "".join(f'<span class=x style="left:{at:.2f}%">{text}</span>' for text, at in x.items())
    texts += "".join(f'<span class=y style="bottom:{at:.2f}%">{text}</span>' for text, at in y.items())
    box = f'viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="{escape(name)}"'
    picture = f"<svg {box}>{drawn}</svg>"
    return f"<div class=chart>{picture}{texts}<span class=name>{escape(name)}</span>{more}</div>"


def _figure(chart: str, caption: str) -> str:
    return f"<figure>{chart}<figcaption>{caption}</figcaption></figure>"


def _key(kind: str, text: str) -> str:
    return f"<span class=key><b class={kind}>{escape(text)}</b></span> "
