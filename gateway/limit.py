"""How many requests may be at work at once, learnt from how long each takes against the least it took lately.

A gradient limit: while a request's own time stays near its least, the limit grows by the square root of itself; when
requests begin to wait for each other, it shrinks in proportion. Pure, no I/O.
"""

from __future__ import annotations

import time
from math import inf, sqrt

from services.runtime.deadline import Clock
from services.runtime.protection import LimitRow

# The most that one window may take from the limit, and how much of each new estimate is believed.
_STEEPEST = 0.5
_BELIEF = 0.5
# The most by which the least may rise when it is measured anew: one bad moment of the machine is no new measure.
_STEEPEST_RISE = 2.0
# Windows spent at the minimum to measure the least anew; only the last counts, the others let the queue drain.
_PROBE_WINDOWS = 2


class Limit:
    """The limit of one process."""

    def __init__(self, row: LimitRow, clock: Clock = time.monotonic) -> None:
        self._row = row
        self._clock = clock
        self._limit = float(row.initial)
        self._least = inf
        self._trusted_at = clock()
        self._probing = 0
        self._sum, self._count, self._peak = 0.0, 0, 0

    @property
    def size(self) -> int:
        """Requests that may be at work at once."""
        return self._row.minimum if self._probing else int(self._limit)

    @property
    def least(self) -> float:
        """Seconds a request takes of its own when it meets no other; 0 until that is known."""
        return self._least if self._least < inf else 0.0

    def learn(self, own_seconds: float, in_flight: int) -> None:
        """A request ended that took so long of its own, its peers' work left out, beside so many others."""
        self._sum += own_seconds
        self._count += 1
        self._peak = max(self._peak, in_flight)
        if self._count >= self._row.window:
            self._reconsider(self._sum / self._count)
            self._sum, self._count, self._peak = 0.0, 0, 0

    def _reconsider(self, mean: float) -> None:
        now = self._clock()
        if self._probing:
            self._probing -= 1
            if not self._probing:
                self._least, self._trusted_at = min(mean, _STEEPEST_RISE * self._least), now
            return
        self._least = min(self._least, mean)
        if mean <= self._row.tolerance * self._least:
            self._trusted_at = now
        elif now - self._trusted_at > self._row.memory_ms / 1000:
            # Slow for so long that the least itself may have changed: look at it without the queue.
            self._probing = _PROBE_WINDOWS
            return
        self._adapt(mean)

    def _adapt(self, mean: float) -> None:
        gradient = max(_STEEPEST, min(1.0, self._row.tolerance * self._least / max(mean, 1e-9)))
        wanted = self._limit * gradient + sqrt(self._limit)
        # A limit that nobody reaches has proved nothing.
        if wanted > self._limit and self._peak * 2 < self._limit:
            return
        wanted = self._limit + _BELIEF * (wanted - self._limit)
        self._limit = max(float(self._row.minimum), min(float(self._row.maximum), wanted))
