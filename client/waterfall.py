"""What each lane did, as bars on a common time axis against the budget it was granted."""

from __future__ import annotations

from collections.abc import Sequence

from lanemesh.v1 import lane_pb2
from lanemesh.v1.search_pb2 import LedgerRow
from rich.console import Console
from rich.text import Text

from client.text import one_line
from services.runtime.jsonform import name_of

BAR_COLUMNS = 32
# What a row needs beside its bar; on a narrow terminal the bar gives way.
_BESIDE_BAR = 66
_STYLES = {
    "OK": "green",
    "PARTIAL": "yellow",
    "EMPTY": "cyan",
    "TIMEOUT": "red",
    "ERROR": "bold red",
    "BYPASSED": "dim",
    "SKIPPED": "dim",
}


def draw(console: Console, ledger: Sequence[LedgerRow]) -> None:
    """Prints the axis and one row per lane."""
    axis = max((row.started_ms + max(row.budget_ms, row.elapsed_ms) for row in ledger), default=0.0) or 1.0
    marks = ("█", "·") if console.encoding.startswith("utf") else ("#", ".")
    lane_width = max((len(one_line(row.lane)) for row in ledger), default=0)
    columns = max(8, min(BAR_COLUMNS, console.width - _BESIDE_BAR))
    scale = f"0{f'{axis:.0f} ms':>{columns - 1}}"
    header = Text(f"  {'lane':<{lane_width}}  {scale}  {'status':<8} {'used/budget':>13}  kept  reason", "dim")
    console.print(header, no_wrap=True, overflow="ellipsis")
    for row in ledger:
        line = _row(row, bar(row, axis, columns, marks), lane_width)
        console.print(line, no_wrap=True, overflow="ellipsis")
        if row.message and row.status not in (lane_pb2.LANE_STATUS_OK, lane_pb2.LANE_STATUS_SKIPPED):
            console.print(Text(f"  {'':<{lane_width}}  {one_line(row.message)}", "dim"))


def bar(row: LedgerRow, axis: float, columns: int, marks: tuple[str, str]) -> Text:
    """The row's bar: the time it took where it fell, then what was left of its budget."""
    used_mark, left_mark = marks
    start = min(columns - 1, max(0, int(row.started_ms / axis * columns)))
    used = _span(row.elapsed_ms, axis, columns, columns - start)
    granted = _span(row.budget_ms, axis, columns, columns - start)
    left = max(granted - used, 0)
    text = Text(" " * start)
    text.append(used_mark * used, _style(row))
    text.append(left_mark * left, "dim")
    text.append(" " * (columns - start - used - left))
    return text


def _span(duration: float, axis: float, columns: int, room: int) -> int:
    """Columns of a duration: at least one when there is any, never beyond the edge."""
    return min(room, max(1, round(duration / axis * columns))) if duration > 0 else 0


def _row(row: LedgerRow, drawn: Text, lane_width: int) -> Text:
    status = name_of(lane_pb2.LaneStatus.DESCRIPTOR, row.status)
    asked = row.budget_ms > 0 or row.elapsed_ms > 0
    used = f"{row.elapsed_ms:.0f}/{row.budget_ms:.0f} ms" if asked else ""
    kept = f"{row.kept}/{row.returned}" if asked else ""
    text = Text(f"  {one_line(row.lane):<{lane_width}}  ")
    text.append_text(drawn)
    text.append(f"  {status:<8} ", _style(row))
    text.append(f"{used:>13}  {kept:>5} {_reason(row)}".rstrip())
    return text


def _reason(row: LedgerRow) -> str:
    stood_in = f"for {row.fallback_for}" if row.fallback_for else ""
    replaced = f"replaced by {row.fallback_lane}" if row.fallback_lane else ""
    return " ".join(one_line(part) for part in (row.reason, stood_in, replaced) if part)


def _style(row: LedgerRow) -> str:
    return _STYLES.get(name_of(lane_pb2.LaneStatus.DESCRIPTOR, row.status), "")
