"""How much time each part of a query gets. Pure arithmetic in milliseconds; figures come from the table."""

from __future__ import annotations

from dataclasses import dataclass

from services.runtime.registry import LaneRow, Table


@dataclass(frozen=True, slots=True)
class Reserve:
    """What is kept back from the lanes, and the part of it that fusion gets."""

    total_ms: float
    fusion_ms: float


def reserve(table: Table, mode: str, left_ms: float) -> Reserve:
    """The mode's reserve, shrunk in proportion where the time left is short."""
    row = table.modes[mode]
    total = max(0.0, min(row.reserve_ms, table.reserve_share * left_ms))
    return Reserve(total, total * row.fusion_ms / row.reserve_ms)


def load_factor(table: Table, load: float) -> float:
    """What system load (0..1) leaves of every lane budget."""
    return table.load.factor if load > table.load.threshold else 1.0


def lane_budget(row: LaneRow, mode: str, factor: float, left_ms: float, reserve_ms: float) -> float:
    """min(table × factor, time left − reserve), never below zero."""
    return max(0.0, min(row.budget_ms[mode] * factor, left_ms - reserve_ms))


def fits(row: LaneRow, budget_ms: float) -> bool:
    """Whether the lane can answer at all in that time."""
    return budget_ms >= row.minimum_ms
