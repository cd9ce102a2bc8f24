"""The sentences that may be quoted, where they stand, and an index from word to sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from lanemesh.v1.evidence_pb2 import Document, Evidence, Span

from fusion_service.labels import GRAPH, LOCAL, SIMILAR, document_label, evidence_label
from fusion_service.tokens import stems, stems_of
from services.text.sentences import CODE, HEADING, Piece, split

# Of a longer document only this many characters are read, around the stretch that matched.
WINDOW = 8_000
_LEAD = 2_000
# Texts kept read, each of at most a window: some twenty megabytes when all are full.
_MOST_TEXTS = 256


@dataclass(slots=True, eq=False)
class Statement:
    """A sentence in comparable form."""

    text: str
    stems: Sequence[str]
    bag: Set[str]


@dataclass(slots=True, eq=False)
class Passage(Statement):
    """A sentence of a source: source.content[start:end]."""

    source: Source
    start: int
    end: int
    kind: str
    # Place in the index, and among the pieces of the source's text.
    number: int
    position: int
    # Words of the title and of the heading above it.
    context: frozenset[str]


@dataclass(slots=True, eq=False)
class Source:
    """A document that may be cited."""

    document: Document
    content: str
    label: str
    group: str = ""
    lanes: Sequence[str] = ()
    # The part of the content that is read.
    window: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Index:
    """All passages of some sources, and where each word occurs."""

    passages: list[Passage]
    postings: dict[str, list[int]]


def statement(text: str) -> Statement:
    """A text in comparable form."""
    words = stems(text)
    return Statement(text, words, frozenset(words))


def evidence_source(evidence: Evidence) -> Source:
    """A ranked piece of evidence as a source; a long one is read around its passage only."""
    document = evidence.document
    content = document.content
    lanes = list(evidence.lanes)
    group = LOCAL if LOCAL in lanes else GRAPH if "kg" in lanes else SIMILAR
    window = _window(len(content), evidence.passage if evidence.HasField("passage") else None)
    return Source(document, content, evidence_label(evidence), group, lanes, window)


def document_source(document: Document) -> Source:
    """A bare document as a source, read as a whole."""
    content = document.content
    return Source(document, content, document_label(document), window=(0, len(content)))


def index(sources: Iterable[Source], needles: Sequence[str] = ()) -> Index:
    """The passages of all sources in order, searchable by word.

    With needles, beginnings of words, only the passages that may matter to them are read: those that contain one,
    stand under a heading that does, or open a source.
    """
    passages: list[Passage] = []
    for source in sources:
        _add_passages(source, needles, passages)
    postings: dict[str, list[int]] = defaultdict(list)
    for passage in passages:
        number = passage.number
        for stem in passage.bag:
            postings[stem].append(number)
    return Index(passages, postings)


def _window(length: int, matched: Span | None) -> tuple[int, int]:
    if length <= WINDOW:
        return 0, length
    start = max(0, min(matched.start if matched else 0, length - WINDOW + _LEAD) - _LEAD)
    return start, min(length, start + WINDOW)


def _add_passages(source: Source, needles: Sequence[str], passages: list[Passage]) -> None:
    start, end = source.window
    read = _TEXTS.read(source.content[start:end])
    pieces = read.pieces
    if len(pieces) > 2:
        # The window cuts through its first and last sentence.
        pieces = pieces[start > 0 : len(pieces) - (end < len(source.content))]
    context = title = frozenset(stems(source.document.title[:1_000]))
    wanted = _wanted(read, pieces, needles)
    for (position, (first, last, kind)), (words, bag) in zip(wanted, read.comparable(wanted), strict=True):
        if kind == HEADING:
            context = title | bag
        else:
            place = (source, start + first, start + last, kind, len(passages), position)
            passages.append(Passage(read.text[first:last], words, bag, *place, context))


@dataclass(slots=True, eq=False)
class Reading:
    """What reading a text gave: its pieces, and of those that mattered to a query their comparable words."""

    text: str
    lowered: str
    pieces: list[Piece]
    words: dict[int, tuple[Sequence[str], frozenset[str]]]

    def comparable(self, wanted: Sequence[tuple[int, Piece]]) -> list[tuple[Sequence[str], frozenset[str]]]:
        """The words of these pieces, each worked out once."""
        known = self.words
        fresh = [piece for _, piece in wanted if piece[0] not in known]
        for piece, found in zip(fresh, stems_of(self.text, [piece[:2] for piece in fresh]), strict=True):
            known[piece[0]] = (found, frozenset(found))
        return [known[piece[0]] for _, piece in wanted]


class _Texts(dict[str, Reading]):
    """Texts read lately: the same documents answer many queries. Bounded; the oldest goes first."""

    def read(self, text: str) -> Reading:
        """The reading of a text, now the newest."""
        reading = self.pop(text, None) or Reading(text, text.lower(), split(text), {})
        while len(self) >= _MOST_TEXTS:
            del self[next(iter(self))]
        self[text] = reading
        return reading


_TEXTS = _Texts()


def _wanted(read: Reading, pieces: Sequence[Piece], needles: Sequence[str]) -> list[tuple[int, Piece]]:
    """The numbered pieces that may matter, headings included, code never."""
    numbered = [(number, piece) for number, piece in enumerate(pieces) if piece[2] != CODE]
    if not needles or not read.text.isascii():
        return numbered
    places = _places(read.lowered, needles)
    wanted, under, opening = [], False, True
    for number, piece in numbered:
        first, last, kind = piece
        while places[-1] < first:
            places.pop()
        near = places[-1] < last
        if kind == HEADING:
            under = near
            wanted.append((number, piece))
        elif near or under or opening:
            wanted.append((number, piece))
            opening = False
    return wanted


def _places(text: str, needles: Sequence[str]) -> list[int]:
    """Where any needle stands, last first, with the end of the text as a stop."""
    places = [len(text)]
    for needle in needles:
        place = text.find(needle)
        while place >= 0:
            places.append(place)
            place = text.find(needle, place + 1)
    places.sort(reverse=True)
    return places
