"""Requests that are refused because the gateway is full: all are counted, and a line a second tells how many."""

from __future__ import annotations

import logging
import time

from gateway import metrics
from services.runtime.deadline import Clock

log = logging.getLogger(__name__)

EVERY = 1.0


class Shedding:
    """The account of one gate."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._told_at = float("-inf")
        self._untold = 0

    def count(self, why: str) -> None:
        """One request refused."""
        metrics.SHEDS.of(why).value += 1.0
        self._untold += 1
        now = self._clock()
        if now - self._told_at >= EVERY:
            log.warning("requests refused", extra={"count": self._untold, "why": why})
            self._told_at, self._untold = now, 0
