"""Where sentences stand in a text: trimmed spans in code points, Markdown structure kept apart from prose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import sentencex

# A longer "sentence" is cut at a space: no reader and no measure gains from more.
LONGEST = 600

PROSE, ITEM, HEADING, ROW, CODE, RULE = "prose", "item", "heading", "row", "code", "rule"

# The splitter slices bytes and panics on white space of more than one byte; a plain space keeps every offset.
_WIDE_SPACES = str.maketrans(
    dict.fromkeys("\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))), " ")
)
_FENCES = ("```", "~~~")
_BULLETS = ("- ", "* ", "+ ", "• ")
_MARKUP = frozenset("#|`~-*+•>=0123456789")


# One sentence, heading, table row or line of code: start, end and kind, in text[start:end].
Piece: TypeAlias = tuple[int, int, str]


def split(text: str) -> list[Piece]:
    """The pieces of a text in order."""
    pieces: list[Piece] = []
    if not any(line.lstrip()[:1] in _MARKUP for line in text.split("\n")):
        _add_sentences(text, 0, len(text), PROSE, pieces)
        return pieces
    for start, end, kind in _blocks(text):
        if kind in (PROSE, ITEM):
            _add_sentences(text, start, end, kind, pieces)
        else:
            _add(text, start, end, kind, pieces)
    return pieces


def byte_span(text: str, start: int, end: int) -> tuple[int, int]:
    """The same stretch in bytes of the UTF-8 encoding."""
    if text.isascii():
        return start, end
    first = len(text[:start].encode())
    return first, first + len(text[start:end].encode())


def _add_sentences(text: str, start: int, end: int, kind: str, pieces: list[Piece]) -> None:
    block = text[start:end]
    if not block.isascii():
        block = block.translate(_WIDE_SPACES)
    for sentence in sentencex.segment("en", block):
        size = len(sentence)
        # The common case first: short enough, and no white space but perhaps one trailing space.
        if size <= LONGEST and sentence[0] > " " < sentence[-2:-1] and sentence[-1] >= " ":
            pieces.append((start, start + size - (sentence[-1] == " "), kind))
        else:
            _add(text, start, start + size, kind, pieces)
        start += size


def _add(text: str, start: int, end: int, kind: str, pieces: list[Piece]) -> None:
    """The stretch without white space at its ends, cut where it is too long; nothing when it is blank."""
    stretch = text[start:end]
    stop = start + len(stretch.rstrip())
    start += len(stretch) - len(stretch.lstrip())
    while stop - start > LONGEST:
        cut = text.rfind(" ", start + 1, start + LONGEST)
        cut = cut if cut > start else start + LONGEST
        pieces.append((start, start + len(text[start:cut].rstrip()), kind))
        start = cut
        while text[start].isspace():
            start += 1
    if start < stop:
        pieces.append((start, stop, kind))


def _blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """Paragraphs, list items, headings, rows and code lines, without their markers."""
    first, last, kind = -1, -1, PROSE
    fence = ""
    for start, end, line in _lines(text):
        mark, skip = (CODE, 0) if fence else _kind(line)
        if line.startswith(_FENCES):
            fence = "" if fence and line.startswith(fence) else fence or line[:3]
            mark = ""
        elif mark == RULE:
            # A line of = or - makes the paragraph above it a heading.
            kind = HEADING if line[0] != "*" else kind
            mark = ""
        elif mark == PROSE and first >= 0:
            last = end
            continue
        if first >= 0:
            yield first, last, kind
            first = -1
        if mark in (PROSE, ITEM):
            first, last, kind = start + skip, end, mark
        elif mark:
            yield start + skip, end, mark
    if first >= 0:
        yield first, last, kind


def _lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Each line's start, its end and its text; the start is past the indentation."""
    position = 0
    for raw in text.split("\n"):
        line = raw.strip()
        yield position + len(raw) - len(raw.lstrip()), position + len(raw), line
        position += len(raw) + 1


def _kind(line: str) -> tuple[str, int]:
    """What a line is ("" for blank), and how many characters its marker takes."""
    if not line:
        return "", 0
    if line[0] not in _MARKUP:
        return PROSE, 0
    if len(line) >= 3 and line[0] in "-=*" and not line.strip(line[0]):
        return RULE, 0
    if line[0] == "#":
        level = len(line) - len(line.lstrip("#"))
        return (HEADING, level) if level <= 6 and line[level : level + 1] in ("", " ") else (PROSE, 0)
    if line[0] == "|":
        return ROW, 0
    if line.startswith(_BULLETS):
        return ITEM, 2
    if line[0] == ">":
        return ITEM, 1
    digits = len(line) - len(line.lstrip("0123456789"))
    if 0 < digits <= 3 and line[digits : digits + 2] in (". ", ") "):
        return ITEM, digits + 2
    return PROSE, 0
