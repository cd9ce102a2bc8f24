"""Currency pairs, by codes or by names, and single currencies where the query asks for a rate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from services.markets import instruments
from services.markets.data import words
from services.markets.found import Found
from services.markets.instruments import CURRENCY, Instrument, Spelling
from services.markets.words import Text
from services.providers.provider import Entity

_CODES = re.compile(r"\b([A-Za-z]{3,4})\s?/\s?([A-Za-z]{3})\b|\b([A-Z]{3})-([A-Z]{3})\b|\b([A-Za-z]{3})([A-Za-z]{3})\b")


@dataclass(frozen=True, slots=True)
class _Mention:
    spelling: Spelling
    start: int
    end: int

    @property
    def currency(self) -> Instrument:
        return self.spelling.instrument


def find_pairs(text: Text) -> list[Found]:
    """Pairs in order."""
    return [*_codes(text), *_worded(text)]


def _codes(text: Text) -> Iterator[Found]:
    known = instruments.by_symbol(CURRENCY)
    for match in _CODES.finditer(text.query):
        base, quote = (code.upper() for code in match.groups() if code)
        if base in known and quote in known and base != quote:
            yield _found(text, known[base], known[quote], match.span(), "a pair of codes", 1.0)


def _worded(text: Text) -> Iterator[Found]:
    asked = bool(words("rate") & set(text.keys)) or any(key.isdigit() for key in text.keys)
    previous: _Mention | None = None
    for mention in _mentions(text):
        if previous is not None and (found := _pair(text, previous, mention, asked)):
            yield found
            previous = None
        else:
            previous = mention


def _pair(text: Text, first: _Mention, second: _Mention, asked: bool) -> Found | None:
    between = [key for key in text.keys[first.end : second.start] if not key.isdigit()]
    link = between[0] if between else ""
    doubtful = first.spelling.ordinary or second.spelling.ordinary or not link
    if (
        first.currency == second.currency
        or any(key not in words("articles") for key in between[1:])
        or (doubtful and not asked)
    ):
        return None
    if link and not any(link in words(name) for name in ("converts", "prices second", "articles")):
        return None
    pair = (first.currency, second.currency)
    if _reversed(text, first, between):
        pair = pair[::-1]
    span = (text.words[first.start].start, text.words[second.end - 1].end)
    return _found(text, *pair, span, "two currencies", 0.95)


def _linked(between: list[str]) -> bool:
    """Whether the words between two currencies make a pair of them."""
    first = any(between[0] in words(name) for name in ("converts", "prices second", "articles")) if between else True
    return first and all(key in words("articles") for key in between[1:])


def _reversed(text: Text, first: _Mention, between: list[str]) -> bool:
    """Whether the first is counted in units of the second: "yen per dollar", "how many yen to the dollar"."""
    many = text.keys[max(first.start - 2, 0) : first.start] == ["how", "many"]
    return bool(between) and (between[0] in words("prices second") or many or between[:2] == ["to", "the"])


def find_single(text: Text) -> Iterator[Found]:
    """Currencies whose rate is asked for without a second one; the dollar is the other."""
    dollar = instruments.by_symbol(CURRENCY)["USD"]
    for mention in _mentions(text):
        currency = mention.currency
        if currency is dollar or mention.spelling.ordinary or not _asked(text, mention):
            continue
        pair = (
            (currency, dollar)
            if currency.crypto or currency.symbol in words("quoted in dollars")
            else (dollar, currency)
        )
        span = (text.words[mention.start].start, text.words[mention.end - 1].end)
        yield _found(text, *pair, span, "a currency whose rate is asked for", 0.8)


def _asked(text: Text, mention: _Mention) -> bool:
    after, before = text.key(mention.end), text.key(mention.start - 1)
    if mention.currency.crypto:
        return after in words("price of crypto") or (
            before in ("of", "is", "for") and bool(words("price of crypto") & set(text.keys))
        )
    following = text.keys[mention.end : mention.end + 2]
    if following == ["exchange", "rate"] or after in ("forex", "fx"):
        return True
    return "exchange" in text.keys[: mention.start] and before in ("of", "for", "the")


def _mentions(text: Text) -> Iterator[_Mention]:
    index, place = instruments.currencies(), 0
    while place < len(text.keys):
        spelling = instruments.spelled_at(index, text, place)
        if spelling is not None:
            yield _Mention(spelling, place, place + len(spelling.words))
        place += len(spelling.words) if spelling else 1


def _found(
    text: Text, base: Instrument, quote: Instrument, span: tuple[int, int], reason: str, confidence: float
) -> Found:
    symbol, name = f"{base.symbol}/{quote.symbol}", f"{base.name} in {quote.name}"
    return Found(Entity(text.query[slice(*span)], CURRENCY, symbol, name), *span, reason, confidence)
