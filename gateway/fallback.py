"""Who stands in for a lane that failed: the table's fallback, if it has not been asked and there is time for it."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from gateway import budget
from gateway.outcome import Outcome
from services.runtime.registry import LaneRow, Table


def stand_in(
    lane: str, table: Table, asked: Container[str], excluded: Container[str], granted_ms: Callable[[LaneRow], float]
) -> LaneRow | None:
    """The lane to ask in place of `lane`; None when there is none left, or no time."""
    row = table.lanes.get(table.lanes[lane].fallback)
    if row is None or not row.enabled or row.name in asked or row.name in excluded:
        return None
    return row if budget.fits(row, granted_ms(row)) else None


def found_nothing(outcomes: Sequence[Outcome]) -> bool:
    """Whether lanes answered and none of them found anything: then their fallbacks are worth a try as well."""
    return bool(outcomes) and not any(outcome.reply and outcome.reply.evidence for outcome in outcomes)
