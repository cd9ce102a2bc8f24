"""One piece of personal data, and what every detector of a kind offers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# How far before a number its name may stand, in characters.
REACH = 32


@dataclass(frozen=True, slots=True)
class Item:
    """What was found; `text[start:end]` is the item."""

    kind: str
    start: int
    end: int

    @property
    def redacted(self) -> str:
        """What stands in its place."""
        return f"[{self.kind}]"


# Every detector yields its items from left to right, without overlap.
Detector = Callable[[str], Iterator[Item]]


def named_before(text: str, start: int, names: re.Pattern[str]) -> bool:
    """Whether one of the names stands shortly before `start`, in the same sentence."""
    before = re.split(r"[.!?;\n]\s", text[max(0, start - REACH) : start])[-1]
    return names.search(before) is not None
