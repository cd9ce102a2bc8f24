"""Text as the graph compares it: words without case, accents, punctuation, plural or possessive, each knowing where
it stands."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from services.text.unspaced import UNSPACED

# Longest name in words, and most n-grams made of one query.
MOST_WORDS = 24
LEAST_WORDS = 4
MOST_KEYS = 2_048

# A run of letters and digits; "&" stands for and; camel case and the change from letters to a word are borders.
_PIECE = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|&")
# Some things are called `$`.
_SYMBOL = re.compile(r"(?<!\S)[^\w\s&]+(?!\S)")
# In scripts without spaces every character is a word.
_BORDER = re.compile(
    rf"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<={UNSPACED})(?=[^\W_])|(?<=[^\W_])(?={UNSPACED})"
)
_POSSESSIVE = re.compile(r"['’]s?$", re.IGNORECASE)
_APOSTROPHE = re.compile(r"['’]")
_PLAIN = re.compile(r"[a-z0-9]+")
_ARTICLES = frozenset({"the", "a", "an"})
# What stands before the name proper of /people/person/place_of_birth, dbo:birthPlace or an address.
_NAMESPACE = re.compile(r".*(?:[/#]|(?<=\w)[.:])(?=\w)")


@dataclass(frozen=True, slots=True)
class Word:
    """A normalised word and its place in the text."""

    text: str
    start: int
    end: int
    surface: str

    @property
    def capitalised(self) -> bool:
        """Whether it is written with a capital."""
        return self.surface[:1].isupper()


def words_of(text: str) -> list[Word]:
    """The words in order."""
    return [word for piece in _PIECE.finditer(text) for word in _split(piece)]


def relation_words(relation: str) -> list[Word]:
    """The words of a relation's own name, without the namespace it may stand in."""
    return words_of(_NAMESPACE.sub("", relation))


def symbols_of(text: str) -> list[Word]:
    """What stands between spaces and is only punctuation."""
    found = ((normalised(match.group()), match) for match in _SYMBOL.finditer(text))
    return [Word(normal, match.start(), match.end(), match.group()) for normal, match in found if normal]


def _split(piece: re.Match[str]) -> Iterator[Word]:
    surface = piece.group()
    borders = [0, *(match.start() for match in _BORDER.finditer(surface)), len(surface)]
    for left, right in pairwise(borders):
        part = surface[left:right]
        if normal := normalised(part):
            yield Word(normal, piece.start() + left, piece.start() + right, part)


def normalised(part: str) -> str:
    """One word without case, accents, possessive and plural; empty when it is only control characters."""
    if part == "&":
        return "and"
    folded = part.casefold()
    if not _PLAIN.fullmatch(folded):
        folded = _folded(folded)
    return singular(folded)


def _folded(text: str) -> str:
    text = _APOSTROPHE.sub("", _POSSESSIVE.sub("", text)) or text
    kept = (char for char in unicodedata.normalize("NFKD", text) if unicodedata.category(char)[0] not in "MCZ")
    return "".join(kept).casefold()


def singular(word: str) -> str:
    """Without a plural s, near enough and equal on both sides of a comparison."""
    if len(word) > 3 and word[-1] == "s" and word[-2] not in "sui" and word[-2].isalpha():
        word = word[:-1]
    return f"{word[:-2]}y" if word.endswith("ie") and len(word) > 4 else word


def key_of(words: Sequence[Word]) -> str:
    """What a name is looked up by."""
    return " ".join(word.text for word in words)


def keys_of_name(name: str) -> dict[str, bool]:
    """Every key of a name; true where the key is the name shortened by its article."""
    words = (words_of(name) or symbols_of(name))[:MOST_WORDS]
    if not words:
        return {}
    keys = {key_of(words): False}
    # "paymentgateway" finds PaymentGateway as well.
    keys.setdefault(" ".join(normalised(piece) for piece in _PIECE.findall(name)[:MOST_WORDS]).strip(), False)
    if len(words) > 1 and words[0].text in _ARTICLES:
        keys.setdefault(key_of(words[1:]), True)
    return {key: shortened for key, shortened in keys.items() if key}


def spans_of(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """The n-grams of a query as first and one past the last word; the longer the query, the shorter they are."""
    longest = min(MOST_WORDS, max(LEAST_WORDS, MOST_KEYS // max(1, len(words))))
    for first in range(len(words)):
        for last in range(first + 1, min(len(words), first + longest) + 1):
            yield first, last
