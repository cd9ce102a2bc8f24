"""Text to comparable words: split, folded, stemmed, each distinct word worked out once per process."""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import normalize

from fusion_service.words import NUMBER_WORDS, STOP_WORDS

# Bounds on what a hostile text can leave in memory.
_LONGEST_WORD = 64
_MOST_FORMS = 1 << 15

_BREAKS = str.maketrans(dict.fromkeys('"()[]{}<>|/\\*`~^=;!?#&+-“”„«»…—–‑。！？，、；：（）「」', " "))
_EDGES = ".,:'’‘_@$€£%"
# Scripts written without spaces: every character is a word.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_VOWELS = frozenset("aeiouy")


def words(text: str) -> list[str]:
    """The words of a text as written, punctuation at their edges included."""
    if not text.isascii():
        text = _UNSPACED.sub(r" \g<0> ", text)
    return [word[:_LONGEST_WORD] for word in text.translate(_BREAKS).split()]


def stems(text: str) -> list[str]:
    """The comparable words of a text in order, without stop words."""
    return list(filter(None, map(_NORMAL, words(text))))


def stems_of(text: str, pieces: Iterable[tuple[int, int]]) -> list[list[str]]:
    """The stems of stretches of one text, none longer than a sentence: `stems` for many, at half the price."""
    if not text.isascii():
        return [stems(text[start:end]) for start, end in pieces]
    broken = text.translate(_BREAKS)
    return [list(filter(None, map(_NORMAL, broken[start:end].split()))) for start, end in pieces]


def normal(word: str) -> str:
    """The comparable form of one word as written; empty for a stop word."""
    return _NORMAL(word)


class _Forms(dict[str, str]):
    """Comparable forms by word as written. A plain look-up is twice as fast as lru_cache, which counts in a fusion."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_FORMS:
            self.clear()
        form = self[word] = _normal(word)
        return form


_NORMAL = _Forms().__getitem__


def _normal(word: str) -> str:
    word = fold(word)
    if word in STOP_WORDS:
        return ""
    if word[:1].isdigit():
        return number(word)
    return NUMBER_WORDS.get(word) or _stem(word)


def fold(word: str) -> str:
    """A word without case, edge punctuation and possessive."""
    word = word.strip(_EDGES)
    if not word.isascii():
        word = normalize("NFKC", word).replace("’", "'")
    return word.casefold().removesuffix("'s")


def number(word: str) -> str:
    """A number in one spelling: 6,100 is 6100, 1.50 is 1.5, 06 is 6."""
    plain = word.replace(",", "")
    whole, point, fraction = plain.partition(".")
    if not whole.isdecimal() or (point and not fraction.isdecimal()):
        return plain
    fraction = fraction.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def _stem(word: str) -> str:
    if len(word) < 4 or not word.isalpha():
        return word
    word = _singular(word)
    for suffix in ("ing", "ed", "ly"):
        root = word.removesuffix(suffix)
        if root != word and len(root) >= 3 and not _VOWELS.isdisjoint(root):
            word = _single(root) if suffix != "ly" else root
            break
    if len(word) > 5 and word.endswith("ll"):
        return word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _single(root: str) -> str:
    """runn(ing) is run; fall(ing) stays."""
    return root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
