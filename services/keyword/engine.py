"""What a full-text engine offers the keyword lane. One file per engine implements it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lanemesh.v1.evidence_pb2 import Document, Span
from lanemesh.v1.index_pb2 import StatsResponse
from lanemesh.v1.lane_pb2 import Filters


@dataclass(frozen=True, slots=True)
class Hit:
    """One document that matched; a higher score is better, `passage` is None when the content itself did not match."""

    document: Document
    score: float
    passage: Span | None


@dataclass(frozen=True, slots=True)
class Found:
    """The best hits, how many documents matched in all, and the words that were looked for."""

    hits: Sequence[Hit]
    total: int
    words: Sequence[str]
    # The engine ran out of its own time: better documents may be missing.
    cut_short: bool = False


class Engine(Protocol):
    """A full-text index. Every call keeps the ambient deadline and raises services.runtime.errors."""

    name: str

    async def search(self, query: str, filters: Filters, limit: int) -> Found:
        """The best `limit` documents for a question, among those the filters let through."""

    async def upsert(self, documents: Sequence[Document]) -> None:
        """Stores all of them durably or none, each replacing the document of its id."""

    async def delete(self, ids: Sequence[str]) -> int:
        """Deletes by id; returns how many existed."""

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts what a caller holding these labels may see."""

    async def check(self) -> None:
        """Returns when a search would be answered now."""

    async def close(self) -> None:
        """Gives back files and threads."""
