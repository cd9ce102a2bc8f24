"""Spares a model that keeps failing, and whoever would wait for it: after some failures in a row it is left alone."""

from __future__ import annotations

import time

from services.runtime.deadline import Clock
from services.runtime.errors import LanemeshError, Overloaded, Unavailable

RESTING = "MODEL_RESTING"
# A model may ask to be left alone for longer than anybody should believe.
LONGEST = 300.0


class Rest:
    """Counts failures in a row. When the rest is over one success clears them, one failure begins it again."""

    def __init__(self, failures: int, seconds: float, clock: Clock = time.monotonic) -> None:
        self._allowed = failures
        self._seconds = seconds
        self._clock = clock
        self._failed = 0
        self._until = 0.0

    def require(self) -> None:
        """Returns when the model may be asked; Unavailable while it rests."""
        if self._clock() < self._until:
            raise Unavailable("the model failed repeatedly and is left alone for a while", reason=RESTING)

    def succeeded(self) -> None:
        """The model answered."""
        self._failed = 0

    def failed(self, error: LanemeshError) -> None:
        """The model did not; a wait it asked for is kept at once."""
        self._failed += 1
        asked = (error.retry_after or 0.0) if isinstance(error, Overloaded) else 0.0
        usual = self._seconds if self._failed >= self._allowed else 0.0
        self._until = max(self._until, self._clock() + min(LONGEST, max(asked, usual)))
