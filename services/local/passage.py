"""The stretch of a section that answers the query best, in characters and in UTF-8 bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lanemesh.v1.evidence_pb2 import Span

from services.local.terms import WORD, terms

MAX_PASSAGE = 400
# A second mention of a word counts this much of the first.
REPEATED = 0.1

_BREAK = re.compile(r"(?<=[.!?。])\s+|\n\s*")


def best_passage(content: str, weights: Mapping[str, float]) -> tuple[int, int] | None:
    """Start and end of whole sentences or lines, about MAX_PASSAGE long; None when no term stands in the text."""
    units = [(start, end, _terms(content[start:end], weights)) for start, end in _units(content)]
    best: tuple[float, int, int] | None = None
    for first, (start, _, found) in enumerate(units):
        if not found:
            continue
        end, worth = _window(units, first, weights)
        if best is None or worth > best[0]:
            best = (worth, start, end)
    return best[1:] if best else None


def _window(units: list[tuple[int, int, list[str]]], first: int, weights: Mapping[str, float]) -> tuple[int, float]:
    start, end, _ = units[first]
    seen: set[str] = set()
    worth = 0.0
    for _, stop, found in units[first:]:
        if stop - start > MAX_PASSAGE and seen:
            break
        end = stop
        worth += sum(weights[term] * (REPEATED if term in seen else 1.0) for term in found)
        seen.update(found)
    return end, worth


def _units(content: str) -> list[tuple[int, int]]:
    units: list[tuple[int, int]] = []
    start = len(content) - len(content.lstrip())
    stop = len(content.rstrip())
    for gap in _BREAK.finditer(content, start, stop):
        if gap.start() > start:
            units.append((start, gap.start()))
        start = gap.end()
    if stop > start:
        units.append((start, stop))
    return units


def _terms(text: str, weights: Mapping[str, float]) -> list[str]:
    found = {term: None for word in WORD.findall(text) for term in terms(word) if term in weights}
    return list(found)


def span(content: str, start: int, end: int) -> Span:
    """The stretch as the contract has it."""
    start_byte = len(content[:start].encode())
    return Span(start=start, end=end, start_byte=start_byte, end_byte=start_byte + len(content[start:end].encode()))
