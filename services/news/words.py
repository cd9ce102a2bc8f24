"""The words of a question that a story about it would contain."""

from __future__ import annotations

import re
from math import ceil

# Search engines take the words of a story, so those that only make a sentence, or ask for news as such, are left out.
_LEFT_OUT = """
    a about after all also am an and any are as at be because been before being between but by can could did do does
    for from had has have how i if in into is it its me more most much my no nor not of off on or our out over please
    should so some such tell than that the their them then there these they this those through to under until up us was
    we were what when where which while who whom whose why will with would you your
    article articles breaking current currently happened happening headline headlines latest news recent recently show
    story stories today tonight update updates yesterday
"""
LEFT_OUT = frozenset(_LEFT_OUT.split())
# What is longer is no word of any story.
MAX_WORD = 64
_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")
_PART = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b")


def keywords(query: str, most: int) -> list[str]:
    """At most `most` words in their order: names and numbers before others, then long words before short ones.

    A question without any such word is taken as it stands, in lower case, where no word is an operator.
    """
    distinct: dict[str, str] = {}
    for word in _WORD.findall(query):
        if len(word) <= MAX_WORD:
            distinct.setdefault(word.casefold(), word)
    words = list(distinct.values())
    telling = [word for word in words if word.casefold() not in LEFT_OUT] or [word.lower() for word in words]
    chosen = set(sorted(telling, key=lambda word: (word == word.lower() and word.isalpha(), -len(word)))[:most])
    return [word for word in telling if word in chosen]


def roots(text: str) -> frozenset[str]:
    """The words of a text without case, possessive and plural."""
    return frozenset(_root(word) for word in _PART.findall(_POSSESSIVE.sub("", text).casefold()))


def enough(words: int) -> int:
    """How many of so many words a story must contain: one or both of two, two thirds of more."""
    return max(min(words, 2), ceil(words * 2 / 3))


def _root(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
