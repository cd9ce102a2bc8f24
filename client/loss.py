"""Stretches of records that were not acknowledged as a whole, told by file and line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from client.records import Origin
from client.segments import Segment


@dataclass
class Loss:
    """Consecutive records that a lane, or the gateway when `lane` is empty, did not acknowledge."""

    first: Origin
    last: Origin
    records: int
    lane: str
    reason: str
    # Number of the last segment it covers.
    segment: int

    @classmethod
    def of(cls, segment: Segment, number: int, lane: str, reason: str) -> Loss:
        """All records of one segment."""
        first, last = segment.records[0].origin, segment.records[-1].origin
        return cls(first, last, len(segment.records), lane, reason, number)

    @property
    def place(self) -> str:
        """The stretch as a person reads it."""
        if self.first == self.last:
            return str(self.first)
        if self.first.file == self.last.file and self.first.line:
            return f"{self.first}-{self.last.line}"
        return f"{self.first} to {self.last}"

    def __str__(self) -> str:
        who = f"the {self.lane} lane" if self.lane else "the gateway"
        told = f"{self.records} records not acknowledged by {who}: {self.reason}"
        return f"{self.place}: {told}; run the command again to complete it"

    def plain(self) -> dict[str, Any]:
        """The loss as JSON."""
        places = {"first": self.first.plain(), "last": self.last.plain()}
        return places | {"records": self.records, "lane": self.lane, "reason": self.reason}


def extend(losses: list[Loss], loss: Loss) -> None:
    """Adds a loss; one that goes on from segment to segment stays one stretch."""
    for earlier in losses:
        same = (earlier.lane, earlier.reason) == (loss.lane, loss.reason)
        if same and earlier.segment == loss.segment - 1:
            earlier.last, earlier.segment = loss.last, loss.segment
            earlier.records += loss.records
            return
    losses.append(loss)
