"""What kind of finding a section is, by a table read from the top: the first row that holds decides."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["instruction", "pattern", "fact"]

# From this share of its list items on, a list of rules is one.
RULE_SHARE = 1 / 3
# From this share of its lines on, a section mainly shows code.
CODE_SHARE = 0.4

_SHOWS = re.compile(r"\b(patterns?|examples?|how[ -]to|recipes?|templates?|snippets?|walk-?through|tutorial)\b", re.I)
_AGREES = re.compile(r"\b(conventions?|guidelines?|style|best practices?|idioms?)\b", re.I)
_OBEYED = re.compile(r"(^|/)(claude|agents|contributing)(\.[^/]*)?$|copilot-instructions\.md$|^\.claude/", re.I)
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(.*)$", re.M)
_RULE = re.compile(r"\b(must|never|always|shall|do not|don['’]t|required to|forbidden|avoid)\b", re.I)
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Place:
    """What the table looks at: the file, the section's own heading, its text."""

    path: str
    heading: str
    content: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table; `why` says in words what `holds` tests."""

    kind: Kind
    why: str
    holds: Callable[[Place], bool]


def _mostly_rules(content: str) -> bool:
    items = _ITEM.findall(content)
    return bool(items) and sum(bool(_RULE.search(item)) for item in items) >= len(items) * RULE_SHARE


def _mostly_code(content: str) -> bool:
    fenced = sum(match[0].count("\n") + 1 for match in _FENCED.finditer(content))
    return fenced > 0 and fenced >= CODE_SHARE * (content.count("\n") + 1)


TABLE = (
    Row("pattern", "the heading announces something to copy", lambda place: bool(_SHOWS.search(place.heading))),
    Row("instruction", "the file is written to be obeyed", lambda place: bool(_OBEYED.search(place.path))),
    Row("instruction", "its list items are rules", lambda place: _mostly_rules(place.content)),
    Row("pattern", "the heading names a custom", lambda place: bool(_AGREES.search(place.heading))),
    Row("pattern", "it mainly shows code", lambda place: _mostly_code(place.content)),
    Row("fact", "it states something", lambda _: True),
)


def kind_of(path: str, heading: str, content: str) -> Kind:
    """The kind of a section, by its file, its own heading and its text."""
    place = Place(path, heading, content)
    return next(row.kind for row in TABLE if row.holds(place))
