"""A question in plain language as the words to look for, and those words as an FTS5 MATCH expression."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from services.text.unspaced import is_unspaced, pairs_of

_WORD = re.compile(r"[^\W_]+")
# What English leaves behind an apostrophe: it's, don't, we'll.
_CLITIC = re.compile(r"['’](?:s|t|d|m|ll|re|ve)\b")

_STOP_WORDS = """
    a about above after again against all also am an and any are as at be because been before being below between
    both but by can cannot could did do does doing down during each few for from further had has have having he her here
    hers him his how i if in into is it its itself just may me might more most must my no nor not of off on once only or
    other our out over own same shall she should so some such than that the their them then there these they this those
    through to too under until up upon very was we were what when where which while who whom whose why will with within
    without would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def words_of(query: str) -> list[str]:
    """The distinct words worth looking for, in order; stop words only when there is nothing else."""
    text = _CLITIC.sub(" ", unicodedata.normalize("NFC", query).lower())
    words = list(dict.fromkeys(_WORD.findall(text)))
    return [word for word in words if word not in STOP_WORDS] or words


def apart(words: Iterable[str]) -> list[str]:
    """The words, with pairs of characters in place of those in scripts without spaces, where no index knows words."""
    return list(dict.fromkeys(part for word in words for part in pairs_of(word)))


def any_of(words: Iterable[str]) -> str:
    """The expression that matches a document with any of the words. Quoting leaves FTS5 no syntax to act on."""
    told = (" ".join(word) if is_unspaced(word) else word.replace('"', '""') for word in words)
    return " OR ".join(f'"{word}"' for word in told)
