"""From text to search terms: identifiers taken apart, stop words dropped, endings removed lightly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

# Combining accents belong to the word, so that both Unicode forms of a letter give one term.
WORD = re.compile(r"[\w\u0300-\u036f]+")

_STOP_WORDS = """
a about am an and any are as at be been being but by can could did do does doing for from had has have how i if in into
is it its me my of on or our ours should so some than that the their them then there these they this those to too us was
we were what when where which who why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# Tried in order: ending, what replaces it, letters that must remain. A final e goes too, so cache, caches, cached,
# caching meet. Light on purpose: a term that is cut too far finds what nobody asked for.
ENDINGS = (
    ("sses", "ss", 2),
    ("ies", "y", 2),
    ("ied", "y", 2),
    ("ments", "", 4),
    ("ment", "", 4),
    ("tions", "t", 3),
    ("tion", "t", 3),
    ("ings", "", 3),
    ("ing", "", 3),
    ("ed", "", 3),
    ("es", "", 3),
    ("ss", "ss", 0),
    ("us", "us", 0),
    ("is", "is", 0),
    ("s", "", 3),
)
_DOUBLED = re.compile(r"([bdfgmnprt])\1$")
_VOWEL = re.compile(r"[aeiouy]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one written word; `whole` is the undivided identifier, empty for an ordinary word."""

    parts: tuple[str, ...]
    whole: str = ""

    def __iter__(self) -> Iterator[str]:
        yield from self.parts
        if self.whole:
            yield self.whole


@lru_cache(maxsize=65_536)
def terms(word: str) -> Terms:
    """OrderService and order_service: order, servic and the whole; caches: cach; the: nothing."""
    pieces = [piece for piece in _HUMP.split(_unaccented(word)) if piece]
    parts = tuple(part for piece in pieces for part in _split_script(piece.casefold()))
    whole = "".join(pieces).casefold() if len(pieces) > 1 else ""
    return Terms(parts, whole)


def _split_script(piece: str) -> Iterator[str]:
    """Scripts without spaces are searched by pairs of characters, everything else by stem."""
    position = 0
    for run in _CJK.finditer(piece):
        yield from _stems(piece[position : run.start()])
        yield from (run[0][index : index + 2] for index in range(max(1, len(run[0]) - 1)))
        position = run.end()
    yield from _stems(piece[position:])


def _stems(piece: str) -> Iterator[str]:
    if piece and piece not in STOP_WORDS:
        yield stem(piece)


def stem(word: str) -> str:
    """The word without its commonest English endings; words of other languages mostly stay as they are."""
    if len(word) < 4 or not word.isalpha():
        return word
    for ending, replacement, remaining in ENDINGS:
        if word.endswith(ending):
            root = word[: -len(ending)]
            if len(root) >= remaining and (replacement or _VOWEL.search(root)):
                word = _DOUBLED.sub(r"\1", root) if ending in ("ing", "ed") else root + replacement
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _unaccented(word: str) -> str:
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFKD", word)
    return unicodedata.normalize("NFC", "".join(char for char in decomposed if not "\u0300" <= char <= "\u036f"))
