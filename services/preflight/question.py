"""A question as the rules see it: without personal data, in words, with what its caller has already chosen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lanemesh.v1.lane_pb2 import Constraints

# A marker of redacted data, or a word with what may stand inside it: don't, node.js, order-service, C++.
_WORD = re.compile(r"\[[a-z_]+\]|[^\W_](?:[\w'’./+#&-]{0,200}[\w+#])?")
_CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m)$")
_CODE_LIKE = re.compile(r".*(?:[a-z][A-Z]|\d|[_./+#&@\\-]|\W\()|.{33,}|\[")

_FUNCTION_WORDS = """
    a about above after again against all also am an and any are as at be because been before being below between
    both but by can cannot could did do does doing down during each few for from further had has have having he her
    here hers him his how i if in into is it its itself just may me might more most must my no nor not of off on
    once only or other our out over own same shall she should so some such than that the their them then there these
    they this those through to too under until up upon us very via was we were what when where whether which while
    who whom whose why will with within without would yet you your isn't aren't wasn't weren't don't doesn't didn't
    can't couldn't won't wouldn't shouldn't haven't hasn't hadn't let please tell show give explain describe find
    need want know help look hello hi hey thanks
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class Word:
    """A word where it stands; `plain` is in lower case without a clitic."""

    text: str
    start: int
    plain: str

    @property
    def end(self) -> int:
        """One past its last character."""
        return self.start + len(self.text)

    @property
    def is_function(self) -> bool:
        """Whether it carries no subject of its own."""
        return self.plain in FUNCTION_WORDS

    @property
    def is_code_like(self) -> bool:
        """Whether it is an identifier, a file, a number or a marker rather than a word of the language."""
        return _CODE_LIKE.match(self.text) is not None


@dataclass(frozen=True, slots=True)
class Question:
    """The sanitised text and its words."""

    text: str
    constraints: Constraints = field(default_factory=Constraints)
    # Whether the caller sent along what it worked with, where a pronoun may find its meaning.
    has_context: bool = False
    words: tuple[Word, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Reads the words once."""
        object.__setattr__(self, "words", tuple(_words(self.text)))

    @property
    def content(self) -> list[Word]:
        """The words that carry its subject."""
        return [word for word in self.words if not word.is_function]

    def is_name(self, place: int) -> bool:
        """Whether the word at that place is written as a name: an identifier, or a capital inside a sentence."""
        word = self.words[place]
        if word.is_code_like or (len(word.text) > 1 and word.text.isupper()):
            return True
        return word.text[0].isupper() and place > 0 and word.plain != "i" and not self._starts_sentence(place)

    def _starts_sentence(self, place: int) -> bool:
        between = self.text[self.words[place - 1].end : self.words[place].start]
        return any(mark in between for mark in ".!?\n")


def _words(text: str) -> Iterator[Word]:
    for match in _WORD.finditer(text):
        yield Word(match[0], match.start(), _CLITIC.sub("", match[0].lower()).replace("’", "'"))


def tidy(text: str) -> str:
    """A text made of parts, as a person would write it: single spaces, none before a mark."""
    return re.sub(r"\s+([?.!,;:])", r"\1", " ".join(text.split()))


def capitalised(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
