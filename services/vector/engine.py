"""What a vector engine offers the vector lane. One file per engine implements it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lanemesh.v1.index_pb2 import StatsResponse

from services.embedding.embedder import Rows
from services.runtime.errors import BadReply
from services.vector.conditions import Condition
from services.vector.payload import Payload, point_id


@dataclass(frozen=True, slots=True)
class Match:
    """One chunk near the question: where it stands in its document, and its cosine."""

    document: str
    chunk: int
    start: int
    end: int
    revision: str
    score: float


@dataclass(frozen=True, slots=True)
class Stored:
    """A document ready to be stored: the payload and the vector of each of its chunks."""

    id: str
    payloads: Sequence[Payload]
    vectors: Rows


class Engine(Protocol):
    """A collection of vectors. Every call keeps the ambient deadline and raises services.runtime.errors."""

    name: str

    async def nearest(
        self, vector: Rows, conditions: Sequence[Condition], limit: int, threshold: float
    ) -> Sequence[Match]:
        """The nearest chunks among those the conditions let through, down to the threshold, best first."""

    async def documents(self, ids: Sequence[str], conditions: Sequence[Condition]) -> Mapping[str, Payload]:
        """The payloads of chunk 0 of those documents that the conditions let through, by document."""

    async def vectors(self, chunks: Mapping[str, int]) -> Mapping[str, Sequence[float]]:
        """The vector of one chunk of each document, by document; without those that are gone by now."""

    async def upsert(self, documents: Sequence[Stored]) -> None:
        """Stores them durably, each replacing the document of its id."""

    async def delete(self, ids: Sequence[str]) -> int:
        """Deletes documents with all their chunks; returns how many existed."""

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts what a caller holding these labels may see."""

    async def check(self) -> None:
        """Returns when a search would be answered now."""

    async def close(self) -> None:
        """Gives back files, threads and connections."""


def plain(vector: object) -> Sequence[float]:
    """A point's vector as the client libraries give it: of all its forms this collection has but one."""
    if not isinstance(vector, list):
        raise BadReply("the engine returned a point without its vector")
    return vector


def slices(documents: Sequence[Stored], size: int) -> Iterator[list[tuple[str, list[float], Payload]]]:
    """Identity, vector and payload of the points to write, so many at a time.

    Chunk 0 comes last of its document: it makes the new revision stand.
    """
    points: list[tuple[str, list[float], Payload]] = []
    for document in documents:
        for number in reversed(range(len(document.payloads))):
            vector = document.vectors[number].tolist()
            points.append((point_id(document.id, number), vector, document.payloads[number]))
            if len(points) == size:
                yield points
                points = []
    if points:
        yield points
