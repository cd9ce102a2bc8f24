"""Other forms of a word: what separates a misspelling from an inflection, a derivation or a variant."""

from __future__ import annotations

import re
from collections.abc import Iterator

SHORTEST_BASE = 4
_ENDINGS = "s es ed d ing ings er ers or ors r rs ly al ally ness ment able ity y"
ENDINGS = tuple(_ENDINGS.split())
GROWN = ("s", "es", "d", "ed", "ing", "ly", "e")
_BEGINNINGS = "un re non pre post anti de dis mis over under sub super inter multi"
BEGINNINGS = tuple(_BEGINNINGS.split())
SHORTEST_STEM = 5
_SUFFIX_WORDS = """
    e y ed er ers es ly al ally ic ical ics ing ings ion ions ible able ably ibly ive ives ively or ors ous ously
    ent ents ence ences ency ant ants ance ances ate ated ates ating ation ations ator ators ity ment ments ness ist
    ists ism ize ized ization
"""
SUFFIXES = frozenset(_SUFFIX_WORDS.split())
# British and American spellings of the same word.
_VARIANTS = (
    (re.compile(r"is(?=e|ing|ation|ed|er)"), "iz"),
    (re.compile(r"ys(?=e|ing|ed|er)"), "yz"),
    (re.compile(r"our"), "or"),
    (re.compile(r"re$"), "er"),
    (re.compile(r"ogue"), "og"),
    (re.compile(r"[ao]e"), "e"),
    (re.compile(r"ll"), "l"),
    (re.compile(r"ence$"), "ense"),
    (re.compile(r"mme$"), "m"),
)


def forms(word: str) -> set[str]:
    """The word and those it may be an inflection or a derivation of, or that may be one of it."""
    found = {word, *(word + ending for ending in GROWN)}
    for ending in ENDINGS:
        if word.endswith(ending):
            found |= _bases(word[: -len(ending)])
    if word.endswith(("ies", "ied")):
        found.add(word[:-3] + "y")
    found |= {word.removeprefix(beginning) for beginning in BEGINNINGS}
    return {form for form in found if len(form) >= SHORTEST_BASE}


def halves(word: str) -> Iterator[tuple[str, str]]:
    """The two words of which it may be made."""
    for place in range(SHORTEST_BASE, len(word) - SHORTEST_BASE + 1):
        yield word[:place], word[place:]


def same_word(left: str, right: str) -> bool:
    """Whether the two are spellings or inflections of one word."""
    if right in forms(left) or left in forms(right) or _american(left) == _american(right):
        return True
    return _derived(left, right)


def _derived(left: str, right: str) -> bool:
    """Whether the two have a stem in common and different suffixes, as compressor and compression have."""
    for length in range(min(len(left), len(right)), SHORTEST_STEM - 1, -1):
        ends = left[length:], right[length:]
        # A vowel for another is how such an ending is misspelt: recepter, existance.
        derived = left[:length] == right[:length] and all(end in SUFFIXES for end in ends)
        if derived and _consonants(ends[0]) != _consonants(ends[1]):
            return True
    return False


def _consonants(word: str) -> str:
    return re.sub(r"[aeiouy]", "", word)


def _bases(stem: str) -> set[str]:
    undoubled = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
    return {stem, stem + "e", stem + "y", undoubled}


def _american(word: str) -> str:
    for pattern, replacement in _VARIANTS:
        word = pattern.sub(replacement, word)
    return word
