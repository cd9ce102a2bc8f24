"""A circuit breaker: a lane that keeps failing is left alone, and tried again by one call at a time. Pure, no I/O."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from lanemesh.v1 import search_pb2
from lanemesh.v1.lane_pb2 import LANE_STATUS_ERROR, LANE_STATUS_TIMEOUT, LaneStatus
from lanemesh.v1.search_pb2 import BREAKER_STATE_CLOSED, BREAKER_STATE_HALF_OPEN, BREAKER_STATE_OPEN, BreakerState

from services.runtime.deadline import Clock
from services.runtime.protection import BreakerRow

# The lane answered, and it was the question or the load that was wrong.
_NOT_ITS_FAULT = frozenset({"INVALID_ARGUMENT", "UNAUTHENTICATED", "RESOURCE_EXHAUSTED"})


def failed(status: LaneStatus.ValueType, reason: str) -> bool:
    """Whether an outcome speaks against the lane."""
    if status == LANE_STATUS_TIMEOUT:
        return True
    return status == LANE_STATUS_ERROR and reason not in _NOT_ITS_FAULT


class Breaker:
    """The breaker of one lane. Every ticket that `admit` gives out is handed back to `record` or to `forget`."""

    def __init__(
        self,
        row: BreakerRow,
        clock: Clock = time.monotonic,
        turned: Callable[[BreakerState.ValueType], None] = lambda _state: None,
    ) -> None:
        self._row = row
        self._clock = clock
        # Told of each change of state.
        self._turned = turned
        self._calls: deque[tuple[float, bool]] = deque(maxlen=row.calls)
        self._state: BreakerState.ValueType = BREAKER_STATE_CLOSED
        # Counts the changes of state: what a call of an earlier state brings is no news of this one.
        self._era = 0
        self._next_try = 0.0
        self._tries = 0
        # Status and reason of the failure that opened it.
        self.cause: tuple[LaneStatus.ValueType, str] = (LANE_STATUS_ERROR, "")

    def admit(self) -> int | None:
        """A ticket for a call that may pass now, or None. When the next try is due, the first to ask is the probe."""
        if self._state != BREAKER_STATE_CLOSED:
            if self._state == BREAKER_STATE_HALF_OPEN or self._clock() < self._next_try:
                return None
            self._turn(BREAKER_STATE_HALF_OPEN)
        return self._era

    def record(self, ticket: int, status: LaneStatus.ValueType, reason: str) -> None:
        """The call ended so."""
        if ticket != self._era:
            return
        against = failed(status, reason)
        if self._state == BREAKER_STATE_CLOSED:
            self._calls.append((self._clock(), against))
            if against and self._too_many():
                self._open(status, reason)
        elif against:
            self._open(status, reason)
        else:
            self._close()

    def forget(self, ticket: int) -> None:
        """The call was given up and says nothing; if it was the probe, the next may be."""
        if ticket == self._era and self._state == BREAKER_STATE_HALF_OPEN:
            self._turn(BREAKER_STATE_OPEN)

    def message(self, now: float) -> search_pb2.Breaker | None:
        """The state as the ledger shows it, `now` in seconds since the epoch; None when closed."""
        if self._state == BREAKER_STATE_CLOSED:
            return None
        shown = search_pb2.Breaker(state=self._state)
        shown.next_try.FromMilliseconds(int((now + self.wait()) * 1000))
        return shown

    def wait(self) -> float:
        """Seconds until the next try."""
        return max(0.0, self._next_try - self._clock())

    def _too_many(self) -> bool:
        since = self._clock() - self._row.window_ms / 1000
        recent = [against for at, against in self._calls if at >= since]
        return len(recent) >= self._row.least_calls and sum(recent) >= self._row.failure_share * len(recent)

    def _open(self, status: LaneStatus.ValueType, reason: str) -> None:
        self.cause = (status, reason)
        # A try of a lane that fails at once costs nothing; one of a lane that hangs costs somebody its budget.
        hung = status == LANE_STATUS_TIMEOUT
        longest = self._row.longest_hung_ms if hung else self._row.longest_ms
        wait_ms = min(longest, self._row.first_try_ms * 2**self._tries)
        self._tries = min(self._tries + 1, 16)
        self._next_try = self._clock() + wait_ms / 1000
        self._turn(BREAKER_STATE_OPEN)

    def _close(self) -> None:
        self._calls.clear()
        self._tries = 0
        self._turn(BREAKER_STATE_CLOSED)

    def _turn(self, state: BreakerState.ValueType) -> None:
        self._state = state
        self._era += 1
        self._turned(state)
