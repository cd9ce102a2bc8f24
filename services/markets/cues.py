"""Words that show that a query is about markets, and where they stand in it."""

from __future__ import annotations

from services.markets.data import words
from services.markets.instruments import COMMODITY, COMPANY, INDEX
from services.markets.words import Text

STRONG = words("strong")
PAIRS = frozenset(tuple(pair.split("-")) for pair in words("strong pairs"))
# Beside a name that is also an ordinary word, by kind of instrument.
BESIDE = {COMPANY: STRONG, INDEX: STRONG | words("beside index"), COMMODITY: words("beside commodity")}


class Cues:
    """The cues of one query."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self.strong = frozenset(place for place in range(len(text.keys)) if self._strong(place))
        keys = set(text.keys)
        self.financial = bool(self.strong) or bool(keys & words("weak"))
        self.off_topic = not self.financial and bool(keys & words("off topic"))

    def _strong(self, place: int) -> bool:
        key, after = self._text.key(place), self._text.key(place + 1)
        if (key, after) in PAIRS:
            return True
        if key == "stock":
            return after not in words("stock of things") and not self._supply(place)
        return key in STRONG

    def _supply(self, place: int) -> bool:
        """In stock, out of stock, chicken stock."""
        before = self._text.key(place - 1)
        return before in words("stock before") or (before == "of" and self._text.key(place - 2) == "out")

    def beside(self, start: int, end: int, kind: str) -> str:
        """The cue directly beside the words [start:end]: the word after, or the word before and a preposition."""
        if self._cue(end, kind):
            return self._text.key(end)
        if kind == COMMODITY and words("measures") & set(self._text.keys[end : end + 3]):
            return "a measure"
        before = start - 1
        while before >= 0 and self._text.key(before) in words("links"):
            before -= 1
        # Without a preposition only a few words lead to a name: "spot gold", "ticker Apple".
        if before != start - 1 or self._text.key(before) in ("spot", "ticker", "symbol"):
            return self._text.key(before) if self._leads(before, kind) else ""
        return ""

    def _cue(self, place: int, kind: str) -> bool:
        if self._text.key(place) in STRONG or (self._text.key(place), self._text.key(place + 1)) in PAIRS:
            return place in self.strong
        return self._text.key(place) in BESIDE[kind]

    def _leads(self, place: int, kind: str) -> bool:
        if place < 0:
            return False
        # "share price of": the pair begins one word earlier.
        return self._cue(place, kind) or (place - 1 in self.strong and kind == COMPANY)
