"""A deadline is a point on the monotonic clock, ambient for the call it belongs to. It is never reset, only spent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from services.runtime.errors import DeadlinePassed

Clock = Callable[[], float]

# A lane stops this share of its time, within these bounds, before it would be cut off.
SOFT_SHARE = 0.05
SOFT_MINIMUM = 0.003
SOFT_MAXIMUM = 0.050

# gRPC rounds a time-out up on the wire: by up to 1 ms below a second, 10 ms below ten, 100 ms beyond.
_WIRE_MARGINS = ((1.0, 0.001), (10.0, 0.010), (float("inf"), 0.100))


def wire_margin(seconds: float) -> float:
    """The most that the wire adds to a time-out of so many seconds."""
    return next(margin for bound, margin in _WIRE_MARGINS if seconds < bound)


@dataclass(frozen=True, slots=True)
class Deadline:
    """The instant after which nobody waits for the answer, in seconds on `clock`."""

    at: float
    clock: Clock = time.monotonic

    @classmethod
    def after(cls, seconds: float, clock: Clock = time.monotonic) -> Deadline:
        """The deadline `seconds` from now."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Seconds left; negative once it has passed."""
        return self.at - self.clock()

    def passed(self) -> bool:
        """Whether nobody waits any more."""
        return self.remaining() <= 0.0

    def soft(self) -> Deadline:
        """The earlier instant at which to answer with what is there, so that the answer still arrives."""
        margin = min(SOFT_MAXIMUM, max(SOFT_MINIMUM, SOFT_SHARE * self.remaining()))
        return Deadline(self.at - margin, self.clock)

    def require(self) -> float:
        """Seconds left, or DeadlinePassed."""
        left = self.remaining()
        if left <= 0.0:
            raise DeadlinePassed("the deadline has passed")
        return left


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def current() -> Deadline | None:
    """The deadline of the call being served; None outside a call."""
    return _current.get()


@contextmanager
def ambient(deadline: Deadline) -> Iterator[Deadline]:
    """Makes `deadline` the current one inside the block."""
    token = _current.set(deadline)
    try:
        yield deadline
    finally:
        _current.reset(token)
