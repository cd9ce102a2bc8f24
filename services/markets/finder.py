"""Finds what a query asks the price of: tickers, companies, currency pairs, indices, commodities. Pure and fast."""

from __future__ import annotations

from collections.abc import Iterator

from services.markets.cues import Cues
from services.markets.currencies import find_pairs, find_single
from services.markets.found import Found
from services.markets.names import find_names
from services.markets.tickers import find_bare, find_marked
from services.markets.words import Text


def find(query: str) -> list[Found]:
    """The entities in the order of the query, each once; the surer rule wins where two see the same words."""
    kept: list[Found] = []
    for found in _candidates(Text(query)):
        if not any(found.overlaps(other) for other in kept):
            kept.append(found)
    kept.sort(key=lambda found: found.start)
    return list({found.entity.symbol: found for found in reversed(kept)}.values())[::-1]


def _candidates(text: Text) -> Iterator[Found]:
    """What each rule sees, the surest rule first."""
    cues = Cues(text)
    yield from find_marked(text, cues)
    yield from find_pairs(text)
    yield from find_names(text, cues)
    yield from find_bare(text)
    yield from find_single(text)
