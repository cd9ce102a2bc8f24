"""What a rule has recognised in a query, where, and why."""

from __future__ import annotations

from dataclasses import dataclass

from services.providers.provider import Entity


@dataclass(frozen=True, slots=True)
class Found:
    """One entity of the query. `start` and `end` count characters."""

    entity: Entity
    start: int
    end: int
    # The rule that recognised it, in words.
    reason: str
    # 0..1.
    confidence: float

    def overlaps(self, other: Found) -> bool:
        """Whether the two stand on the same characters."""
        return self.start < other.end and other.start < self.end
