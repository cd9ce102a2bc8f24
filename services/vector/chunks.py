"""A document cut into stretches that suit an embedder: whole sentences, headings kept with what follows them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lanemesh.v1.evidence_pb2 import Document

from services.text.sentences import HEADING, PROSE, Piece, split

# Title and headings take at most this share of the length, a sentence repeated from the chunk before at most that.
PREFIX_SHARE = 0.3
OVERLAP_SHARE = 0.25
# A heading begins a new chunk once the one before it holds this share of its room.
LEAST_SHARE = 0.25

SEPARATOR = " > "

_WORD = re.compile(r"\w+|[^\w\s]")
# A word that the vocabulary lacks falls into pieces of about this length.
_PIECE = 6
# What a model adds to every text: a mark at either end.
_MARKS = 2


@dataclass(frozen=True, slots=True)
class Chunk:
    """content[start:end], and the text to embed for it: the stretch under its title and headings."""

    start: int
    end: int
    text: str


def chunks_of(document: Document, length: int) -> list[Chunk]:
    """The chunks of a document in order, each of about `length` word pieces or fewer; never none."""
    content = document.content
    pieces = split(content)
    reserve = _reserve(document.title, content, pieces, int(length * PREFIX_SHARE))
    path: list[tuple[int, str]] = []
    chunks: list[Chunk] = []
    for group in _groups(content, pieces, length - _MARKS - reserve):
        _descend(path, content, group[:1])
        start, end = group[0][0], group[-1][1]
        prefix = _prefix(document.title, path, reserve)
        chunks.append(Chunk(start, end, f"{prefix}\n{content[start:end]}" if prefix else content[start:end]))
        _descend(path, content, group[1:])
    return chunks or [Chunk(0, len(content), document.title or content)]


def weight(text: str) -> int:
    """About how many word pieces the text has; rather too many than too few."""
    return sum(1 + (len(word) - 1) // _PIECE if word.isascii() else len(word) for word in _WORD.findall(text))


def _reserve(title: str, content: str, pieces: Sequence[Piece], most: int) -> int:
    """Room for title and headings where they are heaviest."""
    path: list[tuple[int, str]] = []
    heaviest = weight(title)
    for piece in pieces:
        if piece[2] == HEADING:
            _descend(path, content, [piece])
            heaviest = max(heaviest, weight(SEPARATOR.join(_names(title, path))))
    return min(most, heaviest)


def _groups(content: str, pieces: Sequence[Piece], room: int) -> Iterator[list[Piece]]:
    """Runs of pieces that fill the room; a full one lends its last sentence to the next."""
    group: list[Piece] = []
    filled = 0
    for piece in _fitting(content, pieces, room):
        size = weight(content[piece[0] : piece[1]])
        full = filled + size > room
        if group and (full or (piece[2] == HEADING and filled >= room * LEAST_SHARE)):
            yield group
            lent = _lent(content, group[-1], room) if full and piece[2] == PROSE else 0
            group, filled = (group[-1:], lent) if lent and lent + size <= room else ([], 0)
        group.append(piece)
        filled += size
    if group:
        yield group


def _lent(content: str, last: Piece, room: int) -> int:
    """The weight of a sentence that is short enough to be repeated; 0 for any other piece."""
    size = weight(content[last[0] : last[1]])
    return size if last[2] == PROSE and size <= room * OVERLAP_SHARE else 0


def _fitting(content: str, pieces: Sequence[Piece], room: int) -> Iterator[Piece]:
    """The pieces, those beyond the room cut in two until they fit."""
    waiting = list(reversed(pieces))
    while waiting:
        start, end, kind = waiting.pop()
        if weight(content[start:end]) <= room or end - start < 2:
            yield start, end, kind
            continue
        middle = (start + end) // 2
        space = content.rfind(" ", start + 1, middle)
        waiting += (
            [(space + 1, end, kind), (start, space, kind)]
            if space > 0
            else [(middle, end, kind), (start, middle, kind)]
        )


def _descend(path: list[tuple[int, str]], content: str, pieces: Sequence[Piece]) -> None:
    """Makes each heading in turn the innermost of the path."""
    for start, end, kind in pieces:
        if kind == HEADING:
            # A heading underlined in the line below has no marker and counts as of the first level.
            level = content[content.rfind("\n", 0, start) + 1 : start].count("#") or 1
            while path and path[-1][0] >= level:
                path.pop()
            path.append((level, content[start:end]))


def _prefix(title: str, path: Sequence[tuple[int, str]], room: int) -> str:
    """Title and headings, outermost first; the outer ones give way when there is no room, and the last is cut."""
    names = _names(title, path)
    while len(names) > 1 and weight(SEPARATOR.join(names)) > room:
        del names[0]
    prefix = SEPARATOR.join(names)
    while weight(prefix) > room:
        prefix = prefix[: len(prefix) * 3 // 4]
    return prefix


def _names(title: str, path: Sequence[tuple[int, str]]) -> list[str]:
    return list(dict.fromkeys(name for name in (title, *(heading for _, heading in path)) if name))
