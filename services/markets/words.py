"""A query as words with their places, compared without case, accents and possessives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from unicodedata import combining, normalize

_WORD = re.compile(r"[^\W_]+(?:&[^\W_]+)*|[$€£¥₹₺₪₽]")
_POSSESSIVE = re.compile(r"['’][sS]\b")
# Between two words of one name there may be blanks, hyphens and the dots of initials, but no clause may end.
_BREAK = re.compile(r"[,;:!?()\[\]\"]|(?<!\b\w)\.\s")


@dataclass(frozen=True, slots=True)
class Word:
    """One word: as written, as compared, and where it stands in the query."""

    text: str
    key: str
    start: int
    end: int
    # Followed by 's.
    possessive: bool = False

    @property
    def capital(self) -> bool:
        """Whether it starts with a capital letter."""
        return self.text[:1].isupper()


class Text:
    """A query read once, for every rule to look at."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.words = list(_read(query))
        self.keys = [word.key for word in self.words]

    def key(self, place: int) -> str:
        """The word at a place; empty before the first and after the last."""
        return self.keys[place] if 0 <= place < len(self.keys) else ""

    def whole(self, start: int, end: int) -> bool:
        """Whether the words [start:end] stand in one clause."""
        return end - start < 2 or not _BREAK.search(self.query, self.words[start].end, self.words[end - 1].start)

    def opens(self, place: int) -> bool:
        """Whether a word opens the query or a sentence, where a capital says nothing."""
        if place == 0:
            return True
        return any(mark in self.query[self.words[place - 1].end : self.words[place].start] for mark in ".!?:")

    @cached_property
    def shouted(self) -> bool:
        """Whether most of it is in capitals, so that capitals say nothing."""
        letters = [word.text for word in self.words if word.text.isalpha()]
        return len(letters) > 2 and sum(text.isupper() for text in letters) * 2 > len(letters)

    @cached_property
    def titled(self) -> bool:
        """Whether every longer word has a capital, as in a heading."""
        longer = [word for word in self.words if len(word.text) > 3 and word.text.isalpha()]
        return all(word.capital for word in longer)


def _read(query: str) -> list[Word]:
    words: list[Word] = []
    for match in _WORD.finditer(query):
        start, end = match.span()
        if match[0] in ("s", "S") and start and query[start - 1] in "'’":
            continue
        words.append(Word(match[0], fold(match[0]), start, end, bool(_POSSESSIVE.match(query, end))))
    return words


def fold(text: str) -> str:
    """Lower case, without accents."""
    if text.isascii():
        return text.lower()
    return "".join(letter for letter in normalize("NFKD", text.casefold()) if not combining(letter))
