"""From chunks to documents: enough chunks are fetched, the best of each document decides its place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from lanemesh.v1.evidence_pb2 import Document, Span

from services.embedding.embedder import Rows
from services.text.sentences import byte_span
from services.vector.conditions import Condition
from services.vector.engine import Engine, Match
from services.vector.payload import Payload, to_document

# Chunks fetched for each document wanted, how many more at every further step, and the most in one step.
FIRST_FACTOR = 4
NEXT_FACTOR = 4
MOST_CHUNKS = 3_200
MOST_PASSAGES = 8


@dataclass(frozen=True, slots=True)
class Hit:
    """A document and the stretches of it that are near the question, the nearest first."""

    document: Document
    score: float
    passages: Sequence[Span]
    # The number of the nearest one.
    chunk: int


@dataclass(frozen=True, slots=True)
class Found:
    """The best hits, and how many documents were seen to match."""

    hits: Sequence[Hit]
    total: int


NOTHING = Found((), 0)


async def search(
    engine: Engine, vector: Rows, conditions: Sequence[Condition], limit: int, threshold: float
) -> AsyncIterator[Found]:
    """The best `limit` documents, in steps of which each replaces the one before.

    A document of many chunks may crowd out others: then more chunks are fetched. A caller whose time runs out in
    between has the step before.
    """
    wanted = FIRST_FACTOR * limit
    while True:
        matches = await engine.nearest(vector, conditions, wanted, threshold)
        groups = _by_document(matches)
        yield await _fetch(engine, groups, conditions, limit)
        if len(groups) >= limit or len(matches) < wanted or wanted >= MOST_CHUNKS:
            return
        wanted = min(MOST_CHUNKS, wanted * NEXT_FACTOR)


async def _fetch(
    engine: Engine, groups: Mapping[str, Sequence[Match]], conditions: Sequence[Condition], limit: int
) -> Found:
    best = dict(islice(groups.items(), limit))
    payloads = await engine.documents(list(best), conditions) if best else {}
    hits = [_hit(payloads[identity], chunks) for identity, chunks in best.items() if identity in payloads]
    found = [hit for hit in hits if hit is not None]
    return Found(found, len(groups) - len(best) + len(found))


def _by_document(matches: Iterable[Match]) -> Mapping[str, list[Match]]:
    """The chunks of each document, documents in the order of their best chunk."""
    groups: dict[str, list[Match]] = {}
    for match in matches:
        groups.setdefault(match.document, []).append(match)
    return groups


def _hit(payload: Payload, matches: Sequence[Match]) -> Hit | None:
    """None when the document was replaced since: its chunks then speak of another text."""
    current = [match for match in matches if match.revision == payload["revision"]]
    if not current:
        return None
    document = to_document(payload)
    spans = [_span(document.content, match) for match in current[: 1 + MOST_PASSAGES]]
    return Hit(document, current[0].score, spans, current[0].chunk)


def _span(content: str, match: Match) -> Span:
    start_byte, end_byte = byte_span(content, match.start, match.end)
    return Span(start=match.start, end=match.end, start_byte=start_byte, end_byte=end_byte)
