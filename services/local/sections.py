"""Splitting a file into sections by its headings. Every line is in exactly one section; no character is changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from services.local.patterns import Form

# Longer sections are divided between paragraphs; text without headings is grouped to about this size.
MAX_SECTION = 6_000
TEXT_GROUP = 1_500


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a file: lines from 1, inclusive, and the same stretch in characters of the file's text."""

    headings: tuple[str, ...]
    start_line: int
    end_line: int
    start: int
    end: int

    @property
    def path(self) -> str:
        """The headings above, outermost first."""
        return " > ".join(self.headings)


@dataclass(frozen=True, slots=True)
class Heading:
    """Where a heading begins (line index from 0), how deep it is, and what it says."""

    line: int
    level: int
    title: str


def split(text: str, form: Form) -> tuple[Section, ...]:
    """The sections of a text, in order and without a gap."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    offsets = [0, *accumulate(map(len, lines))]
    limit = TEXT_GROUP if form == "text" else MAX_SECTION
    sections: list[Section] = []
    for headings, first, end in _blocks(lines, _FINDERS[form](lines)):
        for start, stop in _divide(lines, first, end, limit):
            sections.append(Section(headings, start + 1, stop, offsets[start], offsets[stop]))
    return tuple(sections)


def _blocks(lines: Sequence[str], found: Iterator[Heading]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    above: list[Heading] = []
    titles: tuple[str, ...] = ()
    first = 0
    for heading in found:
        if heading.line > first:
            yield titles, first, heading.line
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        titles = tuple(part.title for part in above if part.title)
        first = heading.line
    if first < len(lines):
        yield titles, first, len(lines)


def _divide(lines: Sequence[str], first: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """Cuts lines into runs of at most `limit` characters, after a blank line where there is one."""
    start, size, gap = first, 0, first
    for index in range(first, end):
        if size + len(lines[index]) > limit and index > start:
            cut = gap if gap > start else index
            yield start, cut
            start, size = cut, sum(map(len, lines[cut:index]))
        size += len(lines[index])
        if not lines[index].strip():
            gap = index + 1
    yield start, end


# Titles are cut before they are cleaned: a hostile line must not make a pattern slow.
MAX_TITLE = 300

_ATX = re.compile(r" {0,3}(#{1,6})(?=\s|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)\s*")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_RAW_BLOCKS = (("<!--", "-->"), ("<pre", "</pre>"), ("<script", "</script>"), ("<style", "</style>"))
# A list item, a quotation, a table row: no setext heading grows from them.
_NOT_PARAGRAPH = re.compile(r" {0,3}(?:[-*+]\s|\d+[.)]\s|[>|])")
_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_MARKUP = re.compile(r"`+|\*\*|__| ?\{#[^}]*\}$")


def _markdown(lines: Sequence[str]) -> Iterator[Heading]:
    closes: re.Pattern[str] | None = None
    # The line at which a paragraph began that an underline would turn into a heading; none can begin while blocked.
    paragraph: int | None = None
    blocked = False
    for index in range(_front_matter(lines), len(lines)):
        line = lines[index].lstrip("\ufeff") if index == 0 else lines[index]
        if closes:
            closes = None if closes.search(line) else closes
        elif closes := _opens(line):
            paragraph = None
        elif atx := _ATX.match(line):
            yield Heading(index, len(atx[1]), _plain(_unclosed(line[atx.end() :].strip())))
            paragraph, blocked = None, False
        elif paragraph is not None and (setext := _SETEXT.fullmatch(line)):
            yield Heading(paragraph, 1 if "=" in setext[1] else 2, _plain(" ".join(lines[paragraph:index])))
            paragraph = None
        elif not line.strip() or _is_rule(line):
            paragraph, blocked = None, False
        elif _NOT_PARAGRAPH.match(line):
            paragraph, blocked = None, True
        elif paragraph is None:
            # An indented line here is code or goes on with a list, and so does what follows it directly.
            blocked = blocked or line[0].isspace()
            paragraph = None if blocked else index


def _unclosed(title: str) -> str:
    """A title without the hash marks that may close it."""
    bare = title.rstrip("#")
    return bare if not bare or bare[-1].isspace() else title


def _is_rule(line: str) -> bool:
    marks = "".join(line.split())
    return len(marks) >= 3 and marks[0] in "-*_" and marks == marks[0] * len(marks)


def _front_matter(lines: Sequence[str]) -> int:
    """The number of lines of a YAML header, whose closing dashes are no heading."""
    if lines and lines[0].lstrip("\ufeff").rstrip() == "---":
        for index, line in enumerate(lines[1:], 1):
            if line.rstrip() in ("---", "..."):
                return index + 1
    return 0


def _opens(line: str) -> re.Pattern[str] | None:
    """What ends the code fence or raw block that this line begins; None when it begins none."""
    if fence := _FENCE.match(line):
        mark = fence[1]
        return re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}\s*$")
    stripped = line.lstrip().lower()
    for opening, closing in _RAW_BLOCKS:
        if stripped.startswith(opening) and closing not in stripped:
            return re.compile(re.escape(closing), re.IGNORECASE)
    return None


def _plain(title: str) -> str:
    words = " ".join(title.lstrip("\ufeff").split())[:MAX_TITLE]
    return _MARKUP.sub("", _LINK.sub(r"\1", words)).strip()


_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+\s*")


def _rst(lines: Sequence[str]) -> Iterator[Heading]:
    styles: list[tuple[str, bool]] = []
    free = 0
    for index in range(1, len(lines)):
        if index <= free or not _ADORNMENT.fullmatch(lines[index]):
            continue
        overlined = index - 2 >= free and lines[index - 2].rstrip() == lines[index].rstrip()
        if not _is_title(lines, index, overlined, free):
            continue
        style = (lines[index][0], overlined)
        if style not in styles:
            styles.append(style)
        yield Heading(index - 2 if overlined else index - 1, styles.index(style) + 1, _plain(lines[index - 1]))
        free = index + 1


def _is_title(lines: Sequence[str], underline: int, overlined: bool, free: int) -> bool:
    title = lines[underline - 1].rstrip()
    # A shorter line of four or more is a title as well; docutils takes it with a warning.
    if not title.strip() or len(lines[underline].rstrip()) < min(len(title), 4) or _ADORNMENT.fullmatch(title):
        return False
    if overlined:
        return True
    above = lines[underline - 2] if underline - 2 >= free else ""
    return not title[0].isspace() and (not above.strip() or above.startswith(".."))


_FINDERS: dict[Form, Callable[[Sequence[str]], Iterator[Heading]]] = {
    "markdown": _markdown,
    "rst": _rst,
    "text": lambda _: iter(()),
}
