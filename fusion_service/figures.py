"""Numbers and dates in a sentence: normalised to one unit per dimension, each with the range of values it allows."""

from __future__ import annotations

import re
from math import inf, isclose, isinf
from typing import NamedTuple

from fusion_service.tokens import normal
from fusion_service.words import NUMBER_WORDS, UNITS

# Canonical unit to its dimension and its size in the dimension's own unit.
_SCALES = {
    "us": ("time", 1e-6),
    "ms": ("time", 1e-3),
    "s": ("time", 1.0),
    "min": ("time", 60.0),
    "h": ("time", 3_600.0),
    "day": ("time", 86_400.0),
    "week": ("time", 604_800.0),
    "month": ("time", 2_629_800.0),
    "year": ("time", 31_557_600.0),
    "kb": ("size", 1e3),
    "mb": ("size", 1e6),
    "gb": ("size", 1e9),
    "tb": ("size", 1e12),
    "%": ("percent", 1.0),
    "km": ("distance", 1e3),
    "kg": ("mass", 1.0),
    "eur": ("eur", 1.0),
    "usd": ("usd", 1.0),
    "gbp": ("gbp", 1.0),
}
_MAGNITUDES = {"k": 1e3, "m": 1e6, "bn": 1e9}
_LEAST = {"least", "over", "minimum", "exceeds", "exceeding", "above"}
_MOST = {"most", "to", "under", "maximum", "within", "below"}
_ABOUT = {"about", "approximately", "around", "roughly", "nearly", "almost", "~", "circa", "some"}
_ABOUT_SHARE, _EXACT_SHARE, _SAME_LIMIT = 0.1, 0.005, 0.02
_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTHS = {name: place for place, name in enumerate(_MONTH_NAMES.split(), 1)}
_NUMBER = re.compile(r"([$€£]?)(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)([a-zµμ%]*)$")
_ISO_DATE = re.compile(r"((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?$")
_EDGES = "()[]{},;:.!?\"'“”‘’*`"
# Dimension of a plain number: what it counts stands behind.
_COUNTED = "of "
_FIRST_YEAR, _LAST_YEAR = 1900, 2100


class Figure(NamedTuple):
    """A quantity: what is counted or measured, and between which values it lies."""

    dimension: str
    low: float
    high: float
    shown: str

    @property
    def counts(self) -> bool:
        """Whether it is a plain number, without a unit."""
        return self.dimension.startswith(_COUNTED)

    def excludes(self, other: Figure) -> bool:
        """Whether no value satisfies both; two limits on the same side are to be the same limit."""
        if isinf(self.low) and isinf(other.low):
            return not isclose(self.high, other.high, rel_tol=_SAME_LIMIT)
        if isinf(self.high) and isinf(other.high):
            return not isclose(self.low, other.low, rel_tol=_SAME_LIMIT)
        return self.low > other.high or other.low > self.high


class Date(NamedTuple):
    """A year, or a month or day of it; 0 for what is not said."""

    year: int
    month: int
    day: int

    def excludes(self, other: Date) -> bool:
        """Whether the two cannot mean the same day."""
        return any(one and two and one != two for one, two in zip(self, other, strict=True))


def read(text: str) -> tuple[list[Figure], list[Date]]:
    """All figures and dates of a sentence, in order."""
    words = [word.strip(_EDGES).lower() for word in text.split()]
    figures: list[Figure] = []
    dates: list[Date] = []
    for place in range(len(words)):
        if (date := _date(words, place)) is not None:
            dates.append(date)
        elif (figure := _figure(words, place)) is not None:
            figures.append(figure)
    return figures, dates


def _date(words: list[str], place: int) -> Date | None:
    word = words[place]
    if iso := _ISO_DATE.match(word):
        return Date(int(iso[1]), int(iso[2]), int(iso[3] or 0))
    if not (word.isdecimal() and len(word) == 4 and _FIRST_YEAR <= int(word) <= _LAST_YEAR):
        return None
    if _after(words, place) in UNITS:
        return None
    before = words[max(0, place - 2) : place]
    month = next((_MONTHS[one[:3]] for one in before if one[:3] in _MONTHS and one.isalpha()), 0)
    day = next((int(one) for one in before if one.isdecimal() and int(one) <= 31), 0) if month else 0
    return Date(int(word), month, day)


def _figure(words: list[str], place: int) -> Figure | None:
    """None for a word that is no number, and for the day of a date."""
    found = _NUMBER.match(words[place])
    if found is None and words[place] not in NUMBER_WORDS:
        return None
    following = _after(words, place)
    if following[:3] in _MONTHS and following.isalpha():
        return None
    sign, digits, suffix = found.groups() if found else ("", NUMBER_WORDS[words[place]], "")
    value = float(digits.replace(",", ""))
    unit, noun = UNITS.get(suffix or sign, ""), following
    if not suffix and UNITS.get(following, "") in _MAGNITUDES:
        value *= _MAGNITUDES[UNITS[following]]
        noun = _after(words, place + 1)
    elif unit in _MAGNITUDES:
        value *= _MAGNITUDES[unit]
        unit = ""
    dimension, size = _SCALES.get(unit or UNITS.get(noun, ""), (_COUNTED + normal(noun), 1.0))
    shown = " ".join(filter(None, (words[place], following if not suffix and not sign else "")))
    return _ranged(dimension, value * size, words[max(0, place - 2) : place], shown)


def _ranged(dimension: str, value: float, before: list[str], shown: str) -> Figure:
    cues = set(before)
    share = _ABOUT_SHARE if cues & _ABOUT else _EXACT_SHARE
    low, high = value * (1.0 - share), value * (1.0 + share)
    if cues & _LEAST or "more than" in " ".join(before):
        high = inf
    elif "up to" in " ".join(before) or cues & (_MOST - {"to"}) or {"less", "fewer"} & cues:
        low = -inf
    return Figure(dimension, low, high, shown)


def _after(words: list[str], place: int) -> str:
    return words[place + 1] if place + 1 < len(words) else ""
