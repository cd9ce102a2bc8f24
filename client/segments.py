"""Records in segments, one Ingest call each: what is acknowledged is known as it happens, and memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from client.records import Item, Problem, Record, Skipped

# What a lost connection costs at most: large enough to keep every lane busy, small enough to show progress and to be
# embedded well before the call's deadline, even on a busy machine.
SEGMENT_RECORDS = 500
SEGMENT_BYTES = 1024 * 1024


@dataclass
class Segment:
    """Consecutive items of which the records go into one call, numbered so that failures find their way back."""

    records: list[Record] = field(default_factory=list)
    others: list[Problem | Skipped] = field(default_factory=list)
    size: int = 0

    def add(self, item: Item) -> None:
        """Takes the next item."""
        self.size += item.size
        if isinstance(item, Record):
            self.records.append(item)
            item.request.line = len(self.records)
        else:
            self.others.append(item)

    def is_full(self) -> bool:
        """Whether it is time to send."""
        return len(self.records) >= SEGMENT_RECORDS or self.size >= SEGMENT_BYTES


def cut(items: Iterator[Item]) -> Iterator[Segment]:
    """Every item, in segments of their order."""
    segment = Segment()
    for item in items:
        segment.add(item)
        if segment.is_full():
            yield segment
            segment = Segment()
    if segment.records or segment.others:
        yield segment
