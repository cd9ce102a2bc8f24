"""Names in a question: code-like words, quoted ones, and capitalised words that no sentence start explains."""

from __future__ import annotations

import re
from collections.abc import Container

MOST = 16
_LONGEST_TEXT = 2_000

_CODE = re.compile(
    r"`([^`\n]{1,80})`"
    r"|(?<![\w$/@.-])((?=\w*[a-z])(?:[a-z]+|[A-Z][a-z0-9]+|[A-Z]{2,})(?:[A-Z][a-z0-9]+|[A-Z]{2,})+[a-z0-9]*"  # Camel
    r"|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+"  # snake_case
    r"|[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)+"  # dotted.name, file.ext
    r"|[A-Z][A-Z0-9]*\d[A-Z0-9]*(?:-[A-Z0-9]+)*|[A-Z]{2,}(?:-\d+)+"  # PGE2, ADR-021
    r"|[a-z]+(?:-[a-z]+)*-(?:service|api|gateway|worker|db|bus|proxy|client|server|store|queue|adapter|hub|bridge|builder))\b"
)
# Four words at most: what is quoted at length is a text, not a name.
_QUOTED = re.compile(r"[\"“]([^\"”\s]+(?: [^\"”\s]+){0,3})[\"”]")
# A capitalised word, with the small words that may stand inside a longer name.
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'&-]*"
_NAME = re.compile(rf"{_CAPITAL}(?:(?: (?:of|the|de|la|von|van|der|&))*? {_CAPITAL})*(?: \d{{1,4}}\b)?")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|\n)\W*$")
_POSSESSIVE = re.compile(r"['’]s$")


def entities(query: str, not_names: Container[str]) -> tuple[str, ...]:
    """The names in a question, as written, in order of appearance; at most MOST. `not_names` are in lower case."""
    text = query[:_LONGEST_TEXT]
    found: dict[int, tuple[int, str]] = {}
    for match in _CODE.finditer(text):
        _add(found, match.start(), match[1] or match[2])
    for match in _QUOTED.finditer(text):
        _add(found, match.start(), match[1])
    if not _is_shouted(text):
        for match in _NAME.finditer(text):
            _add_name(found, text, match.start(), match[0], not_names)
    names = [name for _, (_, name) in sorted(found.items())]
    return tuple(dict.fromkeys(names))[:MOST]


def _add(found: dict[int, tuple[int, str]], start: int, name: str) -> None:
    """Takes a name unless one that is already there covers its place."""
    name = _POSSESSIVE.sub("", name.strip())
    end = start + len(name)
    if name and not any(first < end and start < last for first, (last, _) in found.items()):
        found[start] = (end, name)


def _add_name(found: dict[int, tuple[int, str]], text: str, start: int, name: str, not_names: Container[str]) -> None:
    words = name.split(" ")
    if len(words) == 1 and _is_ordinary(words[0]) and _SENTENCE_START.search(text, max(0, start - 40), start):
        return
    while words and _plain(words[0], not_names):
        start += len(words[0]) + 1
        words = words[1:]
    while words and (words[-1].islower() or _plain(words[-1], not_names)):
        words = words[:-1]
    if words:
        _add(found, start, " ".join(words))


def _plain(word: str, not_names: Container[str]) -> bool:
    return _POSSESSIVE.sub("", word.lower()) in not_names or word.islower() or len(word) == 1


def _is_ordinary(word: str) -> bool:
    """Whether the start of a sentence explains its capital."""
    return word.isascii() and not (len(word) >= 3 and word.isupper())


def _is_shouted(text: str) -> bool:
    """Whether capitals say nothing: most words of a longer text start with one."""
    words = [word for word in text.split() if word[:1].isalpha()]
    return len(words) > 3 and sum(word[0].isupper() for word in words) > 0.8 * len(words)
