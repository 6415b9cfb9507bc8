"""Tables fit the terminal: numbers and short names stay whole, long texts and wide tables go on below."""

import io

import pytest
from rich.console import Console

from ethereal.base.messages import blocks, table_of


def shown(tables, width=80):
    console = Console(width=width, markup=False, record=True, file=io.StringIO())
    for table in tables:
        console.print(table)
    return console.export_text()


def test_long_names_fold_and_numbers_stay_whole():
    text = shown([table_of(None, ["literal", "clauses"], [["x" * 200, "1,234,567"], ["rate [/s]", "8"]])])
    assert "…" not in text
    assert "1,234,567" in text
    assert text.count("x") == 200
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_wide_table_is_cut_into_blocks_that_fit(width):
    head = ["set", "method", *(f"figure {i} of the study" for i in range(12))]
    rows = [["mammography", "ETHEREAL", *(f"{i}1,234.56" for i in range(12))]] * 2
    parts = blocks(head, rows, 2, width)
    assert all(part[:2] == [0, 1] for part in parts)
    assert [i for part in parts for i in part[2:]] == list(range(2, 14))
    tables = [
        table_of(None, [head[i] for i in p], [[row[i] for i in p] for row in rows], (0, 1)) for p in parts
    ]
    text = shown(tables, width)
    assert max(map(len, text.splitlines())) <= width
    for cell in rows[0]:
        assert cell in text


def test_numbers_stay_whole_where_all_texts_are_short() -> None:
    head = ["library", "threads", "rows/s", "than ethereal", "accuracy %", "includes", "peak MB"]
    row = ["ethereal 0.1.0", "2", "1,749,234", "1.66 x faster", "94.80", "24.01", "262"]
    text = shown([table_of(None, head, [row], (0, 3))])
    assert "1,749,234" in text
    assert max(map(len, text.splitlines())) <= 80
