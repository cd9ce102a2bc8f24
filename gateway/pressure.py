"""How hard the gateway is pressed, from 0 to 1: the worst of places in use, lag of the loop, lanes' budgets used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from services.runtime.protection import PressureRow


class Pressure:
    """Figures sampled by a timer and smoothed, so that one full instant is no pressure."""

    def __init__(self, row: PressureRow, busy: Callable[[], float]) -> None:
        self._row = row
        # Seconds a request waits before a handler sees it; set by whoever can measure that.
        self.delayed: Callable[[], float] = lambda: 0.0
        self._measure_busy = busy
        self._busy = self._lag = self._spent = 0.0
        self._shares: list[float] = []
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self) -> float:
        """The pressure now."""
        return max(self._busy, self._lag, self._spent)

    def spend(self, shares: Sequence[float]) -> None:
        """A query ended whose lanes used these shares of their budgets."""
        if shares:
            self._shares.append(sum(shares) / len(shares))

    def sample(self, lag_seconds: float) -> None:
        """Takes in everything since the last sample; the loop came to it so much later than it should have."""
        spent = sum(self._shares) / len(self._shares) if self._shares else 0.0
        self._shares.clear()
        self._busy = self._follow(self._busy, self._measure_busy())
        self._lag = self._follow(self._lag, lag_seconds * 1000 / self._row.lag_ms)
        self._spent = self._follow(self._spent, spent)

    def start(self) -> None:
        """Samples from now on, in the running loop."""
        self._arm(asyncio.get_running_loop())

    def stop(self) -> None:
        """Samples no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _follow(self, before: float, observed: float) -> float:
        return before + self._row.smoothing * (min(1.0, observed) - before)

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        due = loop.time() + self._row.sample_ms / 1000
        self._timer = loop.call_at(due, self._tick, loop, due)

    def _tick(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self.sample(max(loop.time() - due, self.delayed()))
        self._arm(loop)
