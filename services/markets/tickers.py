"""Tickers: cashtags, symbols with an exchange, and bare symbols where the query leaves no doubt."""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.markets import instruments
from services.markets.cues import Cues
from services.markets.data import words
from services.markets.found import Found
from services.markets.instruments import COMPANY, CURRENCY, TICKER
from services.markets.listing import PREFIXES, SUFFIXES
from services.markets.words import Text
from services.providers.provider import Entity

_CASHTAG = re.compile(r"(?<![\w$])\$([A-Za-z]{1,5}(?:[.-][A-Za-z])?)(?![\w$])")
_PREFIXED = re.compile(rf"\b({'|'.join(PREFIXES)})\s?:\s?\$?([A-Z0-9]{{1,10}}(?:[.-][A-Z])?)\b")
_SUFFIXED = re.compile(rf"(?<![\w.$])([A-Z0-9]{{1,10}}(?:-[A-Z])?)\.({'|'.join(SUFFIXES)})(?![\w.]*\w)")
_CLASSED = re.compile(r"(?<![\w.$])([A-Z]{1,4})[.\-/]([A-C])(?![\w])")


def find_marked(text: Text, cues: Cues) -> Iterator[Found]:
    """Symbols that their own spelling marks as such."""
    for match in _CASHTAG.finditer(text.query):
        if _meant(match[1], cues):
            yield _found(match, match[1].upper().replace("-", "."), "a cashtag", 1.0)
    for match in _PREFIXED.finditer(text.query):
        yield _found(match, match[2].replace("-", ".") + PREFIXES[match[1]], "with its exchange", 1.0)
    for match in _SUFFIXED.finditer(text.query):
        if len(match[1]) > 1 or cues.financial:
            yield _found(match, f"{match[1]}.{match[2]}", "with the suffix of its exchange", 0.95)
    for match in _CLASSED.finditer(text.query):
        symbol = f"{match[1]}.{match[2]}"
        if symbol in instruments.by_symbol(COMPANY) or (cues.strong and len(match[1]) > 1):
            yield _found(match, symbol, "with its class of share", 0.95)


def _meant(symbol: str, cues: Cues) -> bool:
    if symbol.islower():
        return symbol.upper() in instruments.by_symbol(COMPANY)
    return symbol.isupper() and (symbol not in words("shell variables") or cues.financial)


def find_bare(text: Text) -> Iterator[Found]:
    """Symbols that stand as plain words."""
    for place, word in enumerate(text.words):
        symbol = word.text.upper()
        if not (word.text.isascii() and word.text.isalpha() and len(symbol) <= 5) or symbol in words("groups"):
            continue
        if reason := _why(text, place, symbol):
            company = instruments.by_symbol(COMPANY).get(symbol)
            entity = Entity(word.text, TICKER, symbol, company.name if company else "")
            yield Found(entity, word.start, word.end, reason, 0.9 if company else 0.7)


def _why(text: Text, place: int, symbol: str) -> str:
    if text.words[place].text.isupper() and not _shouted(text):
        if _sure(symbol):
            return "a known ticker"
        if _doubtful(symbol):
            return "beside a cue" if _beside(text, place, "after any ticker") or _listed(text, place, symbol) else ""
        return "beside a cue" if _beside(text, place, "after unknown ticker") else ""
    # In small letters, or where everything is in capitals, only a known symbol with a cue is one.
    if _sure(symbol) and len(symbol) > 2 and _beside(text, place, "after known ticker"):
        return "a known ticker beside a cue"
    return ""


def _doubtful(symbol: str) -> bool:
    return symbol in instruments.ordinary_words() or symbol in instruments.by_symbol(CURRENCY)


def _sure(symbol: str) -> bool:
    return symbol in instruments.by_symbol(COMPANY) and not _doubtful(symbol)


def _shouted(text: Text) -> bool:
    """Whether most words are in capitals without being known symbols, so that capitals say nothing."""
    known = instruments.by_symbol(CURRENCY)
    words_only = (word.text for word in text.words if word.text.isalpha())
    others = [word for word in words_only if word not in known and not _sure(word)]
    return len(others) > 2 and sum(word.isupper() for word in others) * 2 > len(others)


def _listed(text: Text, place: int, symbol: str) -> bool:
    """Whether a company's symbol stands in one enumeration with a sure one."""
    near = [place - 1, place + 1]
    near += [place + 2] if text.key(place + 1) in words("joins") else []
    near += [place - 2] if text.key(place - 1) in words("joins") else []
    own = {text.words[other].text for other in near if 0 <= other < len(text.words)}
    return symbol in instruments.by_symbol(COMPANY) and any(map(_sure, own))


def _beside(text: Text, place: int, after: str) -> bool:
    """Whether a word of the set `after` follows, or one that leads to a symbol stands before."""
    one, two = text.key(place + 1), text.key(place + 2)
    if one in words(after) and not (one == "stock" and two in words("not one stock")):
        return text.whole(place, place + 2)
    if one == "share" and two in ("price", "value"):
        return True
    before = text.key(place - 1)
    return before in ("ticker", "symbol") or (before == "of" and text.key(place - 2) in ("shares", "stock"))


def _found(match: re.Match[str], symbol: str, reason: str, confidence: float) -> Found:
    company = instruments.by_symbol(COMPANY).get(symbol)
    entity = Entity(match[0], TICKER, symbol, company.name if company else "")
    return Found(entity, match.start(), match.end(), reason, confidence)
