"""How often a caller may call: a bucket that fills steadily and holds no more than a burst. Pure, no I/O."""

from __future__ import annotations

import time
from dataclasses import dataclass

from services.runtime.deadline import Clock


@dataclass(frozen=True, slots=True)
class Rate:
    """Calls a second, and how many may come at once after a silence."""

    per_second: float
    burst: float


class Bucket:
    """The calls that one caller has left."""

    def __init__(self, rate: Rate, clock: Clock = time.monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._left = rate.burst
        self._at = clock()

    def take(self) -> float:
        """Takes one call; 0, or when there is none the seconds until there will be."""
        now = self._clock()
        self._left = min(self.rate.burst, self._left + (now - self._at) * self.rate.per_second)
        self._at = now
        if self._left >= 1.0:
            self._left -= 1.0
            return 0.0
        return (1.0 - self._left) / self.rate.per_second
