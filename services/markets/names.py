"""Companies, indices and commodities by name. A name that is also an ordinary word counts only beside a cue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from services.markets import instruments
from services.markets.cues import Cues
from services.markets.data import words
from services.markets.found import Found
from services.markets.instruments import COMPANY, INDEX, TICKER, Spelling
from services.markets.words import Text
from services.providers.provider import Entity


@dataclass(frozen=True, slots=True)
class _Named:
    """A spelling at the words [start:end] of the query."""

    spelling: Spelling
    start: int
    end: int

    @property
    def kind(self) -> str:
        return self.spelling.instrument.kind


def find_names(text: Text, cues: Cues) -> list[Found]:
    """Every name that is meant as one, in order."""
    sure: list[tuple[_Named, str]] = []
    unsure: list[_Named] = []
    for named in _named(text):
        if reason := _why(text, cues, named):
            sure.append((named, reason))
        elif not _refuted(text, named):
            unsure.append(named)
    for named in unsure + unsure[::-1]:
        if all(named is not known for known, _ in sure) and any(_joined(text, named, known) for known, _ in sure):
            sure.append((named, "beside another entity"))
    return [_found(text, named, reason) for named, reason in sorted(sure, key=lambda each: each[0].start)]


def _named(text: Text) -> Iterator[_Named]:
    index, place = instruments.names(), 0
    while place < len(text.keys):
        spelling = instruments.spelled_at(index, text, place)
        if spelling is None:
            place += 1
            continue
        yield _Named(spelling, place, place + len(spelling.words))
        place += len(spelling.words)


def _why(text: Text, cues: Cues, named: _Named) -> str:
    """Why the name is meant as one; empty when it is not."""
    if _refuted(text, named):
        return ""
    if not named.spelling.ordinary:
        return "" if cues.off_topic else "a known name"
    if cue := cues.beside(named.start, named.end, named.kind):
        return f"beside {cue}"
    if named.kind == COMPANY:
        return _proper(text, cues, named)
    return "with its article" if _the_index(text, cues, named) else ""


def _proper(text: Text, cues: Cues, named: _Named) -> str:
    """A proper noun by its capital, where a capital says something."""
    if not text.words[named.start].capital or text.shouted:
        return ""
    if text.key(named.end) in words("legal forms"):
        return "with its legal form"
    if not cues.strong:
        return ""
    if text.opens(named.start) or text.titled:
        return "subject of a financial sentence" if text.key(named.end) in words("verbs") else ""
    return "a proper noun in a financial query"


def _the_index(text: Text, cues: Cues, named: _Named) -> bool:
    """The Dow, the Nasdaq."""
    return named.kind == INDEX and text.key(named.start - 1) == "the" and cues.financial


def _refuted(text: Text, named: _Named) -> bool:
    refuted_by = named.spelling.refuted_by
    return text.key(named.end) in refuted_by or text.key(named.start - 1) in refuted_by


def _joined(text: Text, one: _Named, other: _Named) -> bool:
    """Whether two names of a kind stand in one enumeration."""
    if one.kind != other.kind:
        return False
    first, second = sorted((one, other), key=lambda named: named.start)
    between = text.keys[first.end : second.start]
    return len(between) <= 1 and (not between or between[0] in words("joins")) and _listed(text, first, second, between)


def _listed(text: Text, first: _Named, second: _Named, between: list[str]) -> bool:
    gap = text.query[text.words[first.end - 1].end : text.words[second.start].start]
    return bool(between) or any(mark in gap for mark in ",/&")


def _found(text: Text, named: _Named, reason: str) -> Found:
    start, end = text.words[named.start].start, text.words[named.end - 1].end
    instrument, mention = named.spelling.instrument, text.query[start:end]
    # IBM stock, UPS shares: the ticker beside a cue, which happens to be the name as well.
    ticker = named.kind == COMPANY and named.spelling.ordinary and mention == instrument.symbol
    kind = TICKER if ticker else named.kind
    entity = Entity(mention, kind, instrument.symbol, instrument.name)
    return Found(entity, start, end, reason, 0.8 if named.spelling.ordinary else 0.9)
