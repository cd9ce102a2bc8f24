"""HTML to plain text: scripts and styles dropped, blocks on lines of their own, the title taken."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_DROPPED = {"script", "style", "template"}
_BLOCK_NAMES = (
    "address article aside blockquote body br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header hr li main nav ol p pre section table tbody td th thead tr ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says."""

    title: str
    text: str
    language: str


def read_html(source: str) -> Page:
    """The text of an HTML page, whatever its markup is worth."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    return Page(" ".join("".join(reader.title).split()), _tidy("".join(reader.text)), reader.language)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.text: list[str] = []
        self.language = ""
        self._dropping = 0
        self._in_title = False
        self._preformatted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # A title that is never closed ends where the next element starts; only the first one counts.
        self._in_title = tag == "title" and not self.title
        if tag in _DROPPED:
            self._dropping += 1
        elif tag == "html":
            self.language = dict(attrs).get("lang") or ""
        self._preformatted += tag == "pre"
        if tag in _BLOCKS:
            self.text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if tag in _DROPPED:
            self._dropping = max(self._dropping - 1, 0)
        if tag == "pre":
            self._preformatted = max(self._preformatted - 1, 0)
        if tag in _BLOCKS:
            self.text.append("\n")

    def handle_data(self, data: str) -> None:
        if self._dropping:
            return
        if self._in_title:
            self.title.append(data)
        else:
            self.text.append(data if self._preformatted else re.sub(r"\s+", " ", data))


def _tidy(text: str) -> str:
    lines = (line.rstrip() if line.startswith("  ") else line.strip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
