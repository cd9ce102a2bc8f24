"""The same document seen by several lanes is one document: same id, same canonical URL or same content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.fusion_pb2 import LaneFindings

from services.text.urls import canonical_url

# Whole contents are compared only between documents that open with the same characters, white space aside.
_OPENING, _OPENING_RAW = 24, 64


class Sighting(NamedTuple):
    """One piece of evidence as one lane returned it."""

    lane: str
    evidence: Evidence
    content: str
    identity: str
    url: str


@dataclass(slots=True)
class Found:
    """One document with every sighting of it."""

    id: str
    # Best rank by lane, from 1, lanes in the order they were given.
    ranks: dict[str, int]
    # In lane order, then rank order.
    sightings: list[Sighting]
    # The sighting whose document is the most complete.
    best: Sighting
    # Identities of near-duplicates that this document stands for.
    corroborated: list[str] = field(default_factory=list)


def distinct(lanes: Sequence[LaneFindings]) -> list[Found]:
    """The documents behind all evidence. The caller fixes the order of lanes; the result follows it."""
    sightings = _sightings(lanes)
    parents = list(range(len(sightings)))
    for one, other in _matches(sightings):
        _unite(parents, one, other)
    found: dict[int, Found] = {}
    last: dict[str, int] = {}
    for index, sighting in enumerate(sightings):
        lane = sighting[0]
        root = index if parents[index] == index else _root(parents, index)
        document = found.get(root)
        if document is None:
            rank = last[lane] = last.get(lane, 0) + 1
            found[root] = Found(sighting.identity, {lane: rank}, [sighting], sighting)
            continue
        document.sightings.append(sighting)
        if lane not in document.ranks:
            document.ranks[lane] = last[lane] = last.get(lane, 0) + 1
    for document in found.values():
        if len(document.sightings) > 1 or not document.id:
            _represent(document)
    return list(found.values())


def _sightings(lanes: Sequence[LaneFindings]) -> list[Sighting]:
    """All evidence that says anything: a document with neither content, id, URL nor title is none."""
    sightings = []
    for findings in lanes:
        lane = findings.lane
        for evidence in findings.evidence:
            document = evidence.document
            content, identity = document.content, document.id
            if content or identity or document.url or document.title:
                sightings.append(Sighting(lane, evidence, content, identity, document.url))
    return sightings


def _matches(sightings: Sequence[Sighting]) -> Iterator[tuple[int, int]]:
    """Pairs that share an id, a canonical URL or a content; empty fields match nothing."""
    ids: dict[str, int] = {}
    urls: dict[str, int] = {}
    openings: dict[str, int] = {}
    contents: dict[str, int] = {}
    compared: set[int] = set()
    for index, (_, _, content, identity, url) in enumerate(sightings):
        if identity and (other := ids.setdefault(identity, index)) != index:
            yield index, other
        if url and (url := canonical_url(url)) and (other := urls.setdefault(url, index)) != index:
            yield index, other
        if not (opening := _opening(content)):
            continue
        first = openings.setdefault(opening, index)
        if first != index:
            if first not in compared:
                compared.add(first)
                contents.setdefault(_normal(sightings[first].content), first)
            if (other := contents.setdefault(_normal(content), index)) != index:
                yield index, other


def _opening(content: str) -> str:
    """The first characters of a content without its white space; equal for contents that differ in nothing else."""
    opening = "".join(content[:_OPENING_RAW].split())
    if len(opening) < _OPENING < len(content):
        opening = "".join(content.split(None, _OPENING)[:_OPENING])
    return opening[:_OPENING]


def _normal(content: str) -> str:
    return " ".join(content.split())


def _root(parents: list[int], index: int) -> int:
    while parents[index] != index:
        parents[index] = index = parents[parents[index]]
    return index


def _unite(parents: list[int], one: int, other: int) -> None:
    """The earlier sighting becomes the root, so groups stand in order of first sighting."""
    low, high = sorted((_root(parents, one), _root(parents, other)))
    parents[high] = low


def _represent(found: Found) -> None:
    """Chooses the most complete sighting, and the identity: its own, else another's, else one derived from it."""
    if len(found.sightings) > 1:
        found.best = max(found.sightings, key=_completeness)
    found.id = found.best.evidence.document.id
    if not found.id:
        given = (sighting.evidence.document.id for sighting in found.sightings)
        found.id = next(filter(None, given), "") or _derived_id(found.best, found.ranks[found.best.lane])


def _completeness(sighting: Sighting) -> tuple[bool, int, int, bool]:
    """Real before simulated, then the most text, the most fields, the fresher; `max` keeps the first of equals."""
    evidence = sighting.evidence
    fields = len(evidence.document.ListFields())
    return not evidence.simulated, len(sighting.content), fields, not evidence.stale


def _derived_id(sighting: Sighting, rank: int) -> str:
    """An identity for a document that came without one, from what it is known by."""
    document = sighting.evidence.document
    key = canonical_url(document.url) or _normal(sighting.content) or f"{sighting.lane} {rank} {document.title}"
    return f"sha256:{sha256(key.encode()).hexdigest()}"
