"""What the lane knows by name: companies, indices, commodities and currencies, read once from the files in data/."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from services.markets.data import rows
from services.markets.words import Text

COMPANY, TICKER, INDEX, COMMODITY, CURRENCY = "COMPANY", "TICKER", "INDEX", "COMMODITY", "CURRENCY"


@dataclass(frozen=True, slots=True)
class Instrument:
    """Something that has a price."""

    kind: str
    symbol: str
    name: str
    # Its code at providers that spell it in a way of their own.
    codes: Mapping[str, str] = field(default_factory=dict, hash=False)
    # What its price counts, such as "USD per troy ounce". Empty: points, or the currency of its exchange.
    unit: str = ""
    crypto: bool = False

    @property
    def currency(self) -> str:
        """The ISO 4217 code at the start of the unit."""
        return self.unit[:3] if self.unit[:3].isupper() else ""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write an instrument's name."""

    words: tuple[str, ...]
    instrument: Instrument
    # Also an ordinary word: it counts only beside a cue.
    ordinary: bool
    # The name itself ends in 's.
    possessive: bool
    # Words beside it that mean something else.
    refuted_by: frozenset[str]

    def matches(self, text: Text, place: int) -> bool:
        """Whether it stands at that place."""
        end = place + len(self.words)
        if tuple(text.keys[place:end]) != self.words or not text.whole(place, end):
            return False
        return not self.possessive or text.words[end - 1].possessive


Index = Mapping[str, Sequence[Spelling]]


def spelled_at(index: Index, text: Text, place: int) -> Spelling | None:
    """The longest spelling that stands at a place of the query."""
    return next((one for one in index.get(text.keys[place], ()) if one.matches(text, place)), None)


@cache
def names() -> Index:
    """Companies, indices and commodities by the first word of each spelling, the longest first."""
    rows = (("companies", COMPANY), ("indices", INDEX), ("commodities", COMMODITY))
    return _index(spelling for name, kind in rows for spelling in _spellings(name, kind))


@cache
def currencies() -> Index:
    """Currencies in the same way."""
    return _index(_spellings("currencies", CURRENCY))


@cache
def by_symbol(kind: str) -> Mapping[str, Instrument]:
    """All instruments of a kind."""
    index = currencies() if kind == CURRENCY else names()
    spellings = (spelling for group in index.values() for spelling in group)
    return {one.instrument.symbol: one.instrument for one in spellings if one.instrument.kind == kind}


@cache
def ordinary_words() -> frozenset[str]:
    """Words in capitals that are rarely meant as a ticker."""
    return frozenset(word for row in rows("ordinary") for word in row[0].split())


def read_all() -> None:
    """Reads every file now, so that no query waits for it and a faulty one stops the start."""
    ordinary_words()
    for kind in (COMPANY, INDEX, COMMODITY, CURRENCY):
        by_symbol(kind)


def _index(spellings: Iterator[Spelling]) -> Index:
    index: defaultdict[str, list[Spelling]] = defaultdict(list)
    for spelling in spellings:
        index[spelling.words[0]].append(spelling)
    for group in index.values():
        group.sort(key=lambda spelling: -len(spelling.words))
    return dict(index)


def _spellings(name: str, kind: str) -> Iterator[Spelling]:
    for row in rows(name):
        symbol, label, written, *more = row
        instrument, refuted_by = _instrument(kind, symbol, label, more)
        for spelling in written.split(","):
            text = spelling.strip()
            words = tuple(Text(text.removeprefix("~")).keys)
            yield Spelling(words, instrument, text.startswith("~"), text.endswith("'s"), refuted_by)


def _instrument(kind: str, symbol: str, label: str, more: Sequence[str]) -> tuple[Instrument, frozenset[str]]:
    if kind == CURRENCY:
        return Instrument(kind, symbol, label, crypto="crypto" in more), frozenset()
    refuted_by, codes, unit = (*more, "", "", "")[:3]
    pairs = dict(pair.split("=", 1) for pair in codes.split())
    return Instrument(kind, symbol, label, pairs, unit), frozenset(refuted_by.split())
