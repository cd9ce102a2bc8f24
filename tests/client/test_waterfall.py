from __future__ import annotations

import io

import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.search_pb2 import LedgerRow
from rich.console import Console

from client import waterfall

MARKS = ("#", ".")


def row(started: float, elapsed: float, budget: float) -> LedgerRow:
    return LedgerRow(
        lane="kg", status=lane_pb2.LANE_STATUS_OK, started_ms=started, elapsed_ms=elapsed, budget_ms=budget
    )


@pytest.mark.parametrize(
    ("started", "elapsed", "budget", "drawn"),
    [
        (0, 50, 100, "#####....."),
        (50, 20, 50, "     ##..."),
        (0, 0.1, 100, "#........."),
        (0, 130, 50, "##########"),
        (100, 10, 10, "         #"),
        (500, 10, 10, "         #"),
        (0, 0, 0, "          "),
        (-5, -5, -5, "          "),
    ],
)
def test_a_bar_stands_where_its_time_fell_and_never_leaves_the_axis(started, elapsed, budget, drawn):
    assert waterfall.bar(row(started, elapsed, budget), 100.0, 10, MARKS).plain == drawn


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_every_row_fits_its_terminal(width):
    out = io.StringIO()
    waterfall.draw(Console(file=out, width=width), [row(0, 90, 100), row(5, 10, 5000)])
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= width


def test_a_terminal_without_unicode_gets_plain_marks():
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="ascii") as out:
        waterfall.draw(Console(file=out, width=100), [row(0, 50, 100)])
        out.flush()
        drawn = raw.getvalue()
    assert b"#" in drawn
    assert b"." in drawn


def test_no_lanes_is_a_header_alone():
    out = io.StringIO()
    waterfall.draw(Console(file=out, width=100), [])
    assert out.getvalue().count("\n") == 1
