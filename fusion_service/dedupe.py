"""Near-duplicates: pages whose titles say the same on one site, or under almost the same address, become one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import ceil

from fusion_service.factors import domain
from fusion_service.identity import Found
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
    for document in ordered:
        page = _page(document) if document.best.url else None
        if page is None:
            kept.append(document)
        elif (better := _better(page, postings)) is not None:
            better.found.corroborated.append(document.id)
        else:
            kept.append(document)
            for word in _telling(page.words):
                postings.setdefault((page.numbers, word), []).append(page)
    return kept


def _page(found: Found) -> Page | None:
    """None for what has no web address or no title: empty fields never match."""
    url = canonical_url(found.best.url)
    title = frozenset(filter(None, map(fold, words(found.best.evidence.document.title[:_TITLE])))) if url else ()
    return Page(found, frozenset(title), frozenset(filter(None, map(_number, title))), url) if title else None


def _number(word: str) -> str:
    """The number a word of a title stands for, in digits or not; a version or a date counts as one."""
    if any(map(str.isdigit, word)):
        return number(word)
    return NUMBER_WORDS.get(word, "") or (word if _ROMAN.match(word) else "")


def _telling(title: frozenset[str]) -> list[str]:
    """Of two titles alike enough, each has one of these words of the other's: too few others are left to differ in."""
    return sorted(title)[: len(title) - ceil(TITLE_JACCARD * len(title)) + 1]


def _better(page: Page, postings: dict[tuple[frozenset[str], str], list[Page]]) -> Page | None:
    for word in _telling(page.words):
        for other in postings.get((page.numbers, word), ()):
            if _same_title(page, other) and _same_place(page, other):
                return other
    return None


def _same_title(one: Page, other: Page) -> bool:
    return len(one.words & other.words) >= TITLE_JACCARD * len(one.words | other.words)


def _same_place(one: Page, other: Page) -> bool:
    if domain(one.found.best.url) == domain(other.found.best.url):
        return True
    return SequenceMatcher(None, one.url, other.url, autojunk=False).ratio() >= URL_SIMILARITY
