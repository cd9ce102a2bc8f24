"""Every sentence of an answer to the passages that support it, and the citations written out."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from lanemesh.v1.fusion_pb2 import Citation, Sentence

from fusion_service.bearing import Beginnings
from fusion_service.bibliography import Bibliography
from fusion_service.passages import Index, Passage, Statement, statement
from fusion_service.similarity import THRESHOLD, exact, similarity
from services.text.sentences import byte_span

CITATIONS = 3
EXACT, LEXICAL, MIXED = "exact", "lexical", "mixed"
# From here on a passage says what the sentence says, and none that only bears on it need stand beside.
_SURE = 0.85
# A sentence may join two neighbouring ones; a passage with this share of its words is tried with its neighbour.
_LEAST_HALF = 0.4


class Match(NamedTuple):
    """A passage that supports a sentence."""

    passage: Passage
    similarity: float
    method: str


def quotation(passage: Passage, index: Index) -> list[Match]:
    """Support for a sentence taken from a passage: the passage itself, then what other documents say alike."""
    others = [match for match in _best_by_source(passage, index, THRESHOLD) if match.passage.source != passage.source]
    return [Match(passage, 1.0, EXACT), *others[: CITATIONS - 1]]


class Support:
    """Finds what supports any sentence."""

    def __init__(self, index: Index, least: float = THRESHOLD, most: int = CITATIONS) -> None:
        self._index = index
        self._least = least
        self._most = most
        self._beginnings: Beginnings | None = None

    def of(self, sentence: Statement) -> list[Match]:
        """Best first: a passage of each document that says it; where none surely does, also what bears on it."""
        said = _best_by_source(sentence, self._index, self._least)[: self._most]
        if not sentence.bag or (said and said[0].similarity >= _SURE):
            return said
        known = {id(match.passage) for match in said}
        found = [*said, *(match for match in self._bearing(sentence) if id(match.passage) not in known)]
        return sorted(found, key=lambda match: -match.similarity)[: self._most]

    def _bearing(self, sentence: Statement) -> list[Match]:
        if self._beginnings is None:
            self._beginnings = Beginnings(self._index)
        bearing = self._beginnings.bearing(sentence, self._most)
        return [Match(passage, similarity, MIXED) for passage, similarity in bearing if similarity >= self._least]


def write(matches: list[Match], bibliography: Bibliography, target: Sentence) -> None:
    """Fills in the sentence's support."""
    target.supported = bool(matches)
    for match in matches:
        cite(match, bibliography.marker(match.passage.source), target.citations.add())


def _best_by_source(sentence: Statement, index: Index, least: float) -> list[Match]:
    candidates = _candidates(sentence, index, least)
    held = _held(sentence, candidates, index, least)
    if not held:
        pairs = [pair for passage in candidates for pair in _with_neighbour(sentence, passage, index)]
        held = _held(sentence, pairs, index, least)
    held.sort(key=lambda match: -match.similarity)
    best: dict[int, Match] = {}
    for match in held:
        best.setdefault(id(match.passage.source), match)
    return list(best.values())


def _held(sentence: Statement, passages: Iterable[Passage], index: Index, least: float) -> list[Match]:
    """The passages that support the sentence; sharing nothing supports nothing, however low `least` is."""
    matches = [_measure(sentence, passage, index, least) for passage in passages]
    return [match for match in matches if match.similarity >= least and match.similarity > 0.0]


def _candidates(sentence: Statement, index: Index, least: float) -> list[Passage]:
    """Passages that could reach `least`, in index order.

    Whoever lacks the sentence's rarest words, more than 1 - least of them all, cannot cover `least` of it; so only the
    short lists of those words are read. Half of `least` leaves room for two neighbours that share the work.
    """
    postings = index.postings
    rarest = sorted(sentence.bag, key=lambda stem: (len(postings.get(stem, ())), stem))
    needed = int(len(rarest) * (1.0 - min(least, _LEAST_HALF))) + 1
    counts: dict[int, int] = {}
    for stem in rarest[:needed]:
        for number in postings.get(stem, ()):
            counts[number] = counts.get(number, 0) + 1
    passages = [index.passages[number] for number in sorted(counts)]
    enough = min(least, _LEAST_HALF) * len(sentence.bag)
    return [passage for passage in passages if len(sentence.bag & passage.bag) >= enough]


def _measure(sentence: Statement, passage: Passage, index: Index, least: float) -> Match:
    if exact(sentence, passage):
        return Match(passage, 1.0, EXACT)
    return Match(passage, similarity(sentence, passage, _context(passage, index), least), LEXICAL)


def _context(passage: Passage, index: Index) -> frozenset[str]:
    """What the passage may take for granted: title, heading, the sentence before."""
    before = index.passages[passage.number - 1]
    return passage.context | before.bag if _neighbours(before, passage) else passage.context


def _neighbours(one: Passage, other: Passage) -> bool:
    return one.source is other.source and one.position + 1 == other.position


def _with_neighbour(sentence: Statement, passage: Passage, index: Index) -> list[Passage]:
    """Its predecessor and the passage, or the passage and its successor, as one, where the neighbour adds words."""
    pairs = []
    around = index.passages[max(passage.number - 1, 0) : passage.number + 2]
    for one, other in pairwise(around):
        adds = (sentence.bag & one.bag) - other.bag and (sentence.bag & other.bag) - one.bag
        if adds and _neighbours(one, other):
            joined = statement(one.source.content[one.start : other.end])
            place = (one.source, one.start, other.end, one.kind, one.number, one.position)
            pairs.append(Passage(joined.text, joined.stems, joined.bag, *place, one.context))
    return pairs


def cite(match: Match, marker: int, target: Citation) -> None:
    """Writes one citation out."""
    passage = match.passage
    source = passage.source
    start_byte, end_byte = byte_span(source.content, passage.start, passage.end)
    target.MergeFrom(
        Citation(
            marker=marker,
            document_id=source.document.id,
            passage=passage.text,
            start=passage.start,
            end=passage.end,
            start_byte=start_byte,
            end_byte=end_byte,
            sha256=sha256(passage.text.encode()).hexdigest(),
            similarity=min(match.similarity, 1.0),
            method=match.method,
            label=source.label,
        )
    )
