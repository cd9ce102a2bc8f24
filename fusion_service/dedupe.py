"""Near-duplicates become one: pages of one title on one site or under almost one address, and texts of one meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import ceil

from fusion_service.factors import domain
from fusion_service.identity import Found
from fusion_service.meaning import proposed, same
from fusion_service.tokens import fold, number, words
from fusion_service.words import NUMBER_WORDS
from services.text.urls import canonical_url

TITLE_JACCARD = 0.8
URL_SIMILARITY = 0.9
_TITLE = 1_000
_ROMAN = re.compile(r"(?=[ivx])(x{0,3}(ix|iv|v?i{0,3}))$")


@dataclass(slots=True, eq=False)
class Page:
    """What is compared of a document that stands somewhere on the web."""

    found: Found
    words: frozenset[str]
    numbers: frozenset[str]
    url: str


def merge(ordered: Sequence[Found]) -> list[Found]:
    """The documents in their order, best first, without those that repeat a better one; that one names them."""
    kept: list[Found] = []
    postings: dict[tuple[frozenset[str], str], list[Page]] = {}
    standing: dict[str, Found] = {}
    for document in ordered:
        page = _page(document) if document.best.url else None
        names = proposed(document)
        better = _better(page, postings) if page is not None else None
        if better is None and names:
            better = _alike(document, names, standing)
        if better is not None:
            better.corroborated.append(document.id)
            continue
        kept.append(document)
        if names:
            standing.update((sighting.identity, document) for sighting in document.sightings)
        if page is not None:
            for word in _telling(page.words):
                postings.setdefault((page.numbers, word), []).append(page)
    return kept


def _page(found: Found) -> Page | None:
    """None for what has no web address or no title: empty fields never match."""
    url = canonical_url(found.best.url)
    title = _title(found) if url else frozenset()
    return Page(found, title, _numbers(title), url) if title else None


def _title(found: Found) -> frozenset[str]:
    return frozenset(filter(None, map(fold, words(found.best.evidence.document.title[:_TITLE]))))


def _numbers(title: frozenset[str]) -> frozenset[str]:
    return frozenset(filter(None, map(_number, title)))


def _alike(document: Found, names: Sequence[str], standing: Mapping[str, Found]) -> Found | None:
    """The better document that says the same, if one of those proposed does."""
    for name in names:
        other = standing.get(name)
        if other is not None and _numbers(_title(document)) == _numbers(_title(other)) and same(other, document):
            return other
    return None


def _number(word: str) -> str:
    """The number a word of a title stands for, in digits or not; a version or a date counts as one."""
    if any(map(str.isdigit, word)):
        return number(word)
    return NUMBER_WORDS.get(word, "") or (word if _ROMAN.match(word) else "")


def _telling(title: frozenset[str]) -> list[str]:
    """Of two titles alike enough, each has one of these words of the other's: too few others are left to differ in."""
    return sorted(title)[: len(title) - ceil(TITLE_JACCARD * len(title)) + 1]


def _better(page: Page, postings: Mapping[tuple[frozenset[str], str], list[Page]]) -> Found | None:
    for word in _telling(page.words):
        for other in postings.get((page.numbers, word), ()):
            if _same_title(page, other) and _same_place(page, other):
                return other.found
    return None


def _same_title(one: Page, other: Page) -> bool:
    return len(one.words & other.words) >= TITLE_JACCARD * len(one.words | other.words)


def _same_place(one: Page, other: Page) -> bool:
    if domain(one.found.best.url) == domain(other.found.best.url):
        return True
    return SequenceMatcher(None, one.url, other.url, autojunk=False).ratio() >= URL_SIMILARITY
