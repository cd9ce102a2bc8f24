"""A clock that moves when it is told to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class HandClock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds
