"""Runs in memory, to look at their tables."""

from pathlib import Path

from ethereal.runs.results import Board, Facts, Learned, LeftOut, Pruned, Scores
from ethereal.runs.run import Run

NO_FOREST = LeftOut("not wanted")


def run_of(stages: Scores, forest=NO_FOREST, *, is_balanced=False, **board) -> Run:
    """Return a run whose model has these scores."""
    kept = {name: getattr(stages, name) for name in Scores.__dataclass_fields__}
    same = kept | {"seconds": 1.0, "clauses": 1, "includes": 1}
    more = {"bounds": {}, "layout": None, "clause_bytes": None, "neighbours": {}, "curve": ()}
    pruned = Pruned(**same, **more, expected=stages.accuracy, held_out=0, learned_from=10**6)
    facts = Facts("ethereal run", "2026-01-01 00:00", {}, "drawn", "rows")
    measured_board = Board(**{"target": "cortex-m7", "rows": 0, **board})
    learned = Learned(**same, history=())
    return Run(Path("runs/x"), None, learned, pruned, forest, measured_board, facts, is_balanced=is_balanced)
