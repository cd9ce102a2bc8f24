"""Where sources disagree: the sentences that speak to the question, compared source with source."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple

from lanemesh.v1.fusion_pb2 import Disagreement, Severity

from fusion_service.bibliography import Bibliography
from fusion_service.cite import EXACT, Match, cite
from fusion_service.claims import Claim, claim
from fusion_service.contradiction import NEAR, SCOPE, Difference, compare, nearness
from fusion_service.passages import Passage
from fusion_service.tokens import normal, words

# A sentence is held against this many of another source: those nearest to it.
_NEAREST = 2
_MOST = 10
_TOPIC_WORDS = 6


class Conflict(NamedTuple):
    """Two passages of different sources that cannot both be right, in rank order of their sources."""

    one: Passage
    other: Passage
    difference: Difference


def find(passages: Sequence[Passage]) -> list[Conflict]:
    """The surest conflict of every two sources, surest first."""
    read = [(passage, claim(passage.text)) for passage in sorted(passages, key=lambda passage: passage.number)]
    best: dict[tuple[int, int], Conflict] = {}
    for (one, ours), (other, theirs) in _comparable(read):
        difference = compare(ours, theirs)
        if difference is not None:
            sources = (id(one.source), id(other.source))
            known = best.get(sources)
            if known is None or difference.confidence > known.difference.confidence:
                best[sources] = Conflict(one, other, difference)
    return sorted(best.values(), key=lambda conflict: -conflict.difference.confidence)[:_MOST]


def write(conflict: Conflict, answered: Collection[Passage], bibliography: Bibliography, target: Disagreement) -> None:
    """Fills in everything but the resolution."""
    difference = conflict.difference
    target.topic = _topic(conflict)
    target.type = difference.type
    target.severity = _severity(conflict, answered)
    target.explanation = difference.explanation
    target.confidence = difference.confidence
    for passage, value in zip((conflict.one, conflict.other), difference.values, strict=True):
        side = target.claims.add(value=value)
        cite(Match(passage, 1.0, EXACT), bibliography.marker(passage.source), side.citation)
        if passage.source.document.HasField("published_at"):
            side.published_at.CopyFrom(passage.source.document.published_at)


Read = tuple[Passage, Claim]


def _comparable(read: Sequence[Read]) -> Iterator[tuple[Read, Read]]:
    """Every sentence with those of each later source that are nearest to it, if near enough."""
    for place, one in enumerate(read):
        near: dict[int, list[tuple[float, int]]] = {}
        for later in range(place + 1, len(read)):
            other = read[later]
            if other[0].source is not one[0].source:
                value = nearness(one[1], other[1])
                if value >= NEAR:
                    near.setdefault(id(other[0].source), []).append((value, -later))
        for values in near.values():
            for _, later in nlargest(_NEAREST, values):
                yield one, read[-later]


def _topic(conflict: Conflict) -> str:
    shared = claim(conflict.one.text).subject & claim(conflict.other.text).subject
    written = {normal(word): word.strip(".,:'’\"") for word in reversed(words(conflict.one.text))}
    return " ".join([word for stem, word in reversed(written.items()) if stem in shared][:_TOPIC_WORDS])


def _severity(conflict: Conflict, answered: Collection[Passage]) -> Severity.ValueType:
    if conflict.difference.type == SCOPE:
        return Severity.SEVERITY_LOW
    in_answer = conflict.one in answered or conflict.other in answered
    return Severity.SEVERITY_HIGH if in_answer else Severity.SEVERITY_MEDIUM
