"""The gateway's own door: a request is at work, waits a moment for its turn, or is refused before any work is done."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType

from gateway.limit import Limit
from gateway.shedding import Shedding
from services.runtime.deadline import Clock, Deadline
from services.runtime.errors import Overloaded
from services.runtime.protection import LimitRow

# How fast the mean time of a visit follows the last one.
_SMOOTHING = 0.1


class Gate:
    """Lets in as many as the limit allows; the next few wait in turn, no longer than their deadlines can bear."""

    def __init__(self, row: LimitRow, clock: Clock = time.monotonic) -> None:
        self.limit = Limit(row, clock)
        # Seconds a request has waited before it came here; set by whoever can measure that.
        self.delayed: Callable[[], float] = lambda: 0.0
        self.in_flight = 0
        self._row = row
        self._clock = clock
        self._shedding = Shedding(clock)
        self._held = 0.0
        self._waiting: deque[asyncio.Future[bool]] = deque()

    def visit(self, deadline: Deadline) -> Visit:
        """A request that wants in: `async with gate.visit(deadline) as visit`. Overloaded when it is refused."""
        return Visit(self, deadline, self._clock)

    def busy(self) -> float:
        """The share of the limit in use or asked for, 0..1."""
        return min(1.0, (self.in_flight + len(self._waiting)) / self.limit.size)

    def crowded(self) -> bool:
        """Whether a request that comes now would have to wait, or to leave."""
        return self.in_flight >= self.limit.size or bool(self._waiting)

    def look(self, deadline: Deadline) -> float:
        """The longest that a request may wait which comes now; Overloaded when it would wait in vain."""
        left, waited = deadline.remaining(), self.delayed()
        longest = min(self._row.wait_ms / 1000, self._row.wait_share * (left + waited)) - waited
        # However long the wait, a few are always at work: or nobody would be served, and no queue be seen to shrink.
        if longest < 0.0 and self.in_flight >= self._row.minimum:
            raise self._refusal("delay", waited)
        if self.crowded():
            expected = self._expected()
            if len(self._waiting) >= self._row.queue or expected > longest or expected + self._held > left:
                raise self._refusal("queue", expected)
        return longest

    async def enter(self, deadline: Deadline) -> None:
        """Returns when the request may begin."""
        longest = self.look(deadline)
        if self.crowded():
            await self._turn(longest)
        self.in_flight += 1

    def leave(self, held: float, own: float | None) -> None:
        """A request ended `held` seconds after it began; `own` of them were its own, None when that says nothing."""
        if own is not None:
            self.limit.learn(own, self.in_flight)
        self.in_flight -= 1
        self._held += _SMOOTHING * (held - self._held) if self._held else held
        self._call_next()

    def _expected(self) -> float:
        """Seconds until the next to come would have its turn."""
        return self._held * (len(self._waiting) + 1) / self.limit.size

    async def _turn(self, longest: float) -> None:
        expected = self._expected()
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._waiting.append(turn)
        timer = loop.call_later(longest, self._expire, turn)
        try:
            came = await turn
        except asyncio.CancelledError:
            self._forget(turn)
            raise
        finally:
            timer.cancel()
        if not came:
            raise self._refusal("wait", expected)
        # The place was taken for this request when it was called; `enter` counts it.
        self.in_flight -= 1

    def _call_next(self) -> None:
        while self._waiting and self.in_flight < self.limit.size:
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(True)

    def _expire(self, turn: asyncio.Future[bool]) -> None:
        if not turn.done():
            self._waiting.remove(turn)
            turn.set_result(False)

    def _forget(self, turn: asyncio.Future[bool]) -> None:
        """The request left the queue; a place that was already given to it goes to the next."""
        if turn in self._waiting:
            self._waiting.remove(turn)
        elif not turn.cancelled() and turn.result():
            self.in_flight -= 1
            self._call_next()

    def _refusal(self, why: str, expected: float) -> Overloaded:
        self._shedding.count(why)
        message = f"the gateway is full: {self.in_flight} requests at work, {len(self._waiting)} waiting"
        return Overloaded(message, retry_after=max(expected, self._held))


class Visit:
    """One request inside. Whoever serves it says in `own` how long it waited for the gateway; so the limit learns."""

    __slots__ = ("_clock", "_deadline", "_entered", "_gate", "own")

    def __init__(self, gate: Gate, deadline: Deadline, clock: Clock) -> None:
        self._gate = gate
        self._deadline = deadline
        self._clock = clock
        # Seconds; None: the request ended in a way that says nothing of how busy the gateway is.
        self.own: float | None = None

    async def __aenter__(self) -> Visit:
        await self._gate.enter(self._deadline)
        self._entered = self._clock()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._gate.leave(self._clock() - self._entered, self.own)
