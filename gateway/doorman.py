"""Turns searches away while the gateway is full, before they cost anything: a refusal must be cheap to protect."""

from __future__ import annotations

from functools import lru_cache

from gateway.admission import Gate
from gateway.echo import KEY
from services.runtime.accept import Refusal
from services.runtime.boundary import Context, call_deadline
from services.runtime.errors import DETAILS_KEY, STATUS, Overloaded, details
from services.runtime.served import Method

# Hints are rounded up to this, so that the few there are can be kept written out.
_HINT_MS = 10


class Doorman:
    """Stands before the gate while it is crowded."""

    def __init__(self, gate: Gate, longest_ms: float) -> None:
        self._gate = gate
        # What a search without a deadline may take at most; the gate knows better once the message is read.
        self._longest_ms = longest_ms
        self._method = Method("SearchService/Search")

    def __call__(self, context: Context) -> Refusal | None:
        """What to tell a search that has just come; None when it may go on to the gate."""
        if not self._gate.crowded():
            return None
        try:
            self._gate.look(call_deadline(context, self._longest_ms))
        except Overloaded as error:
            # The process's own calls are thrown back further in, and are no searches.
            if any(key == KEY for key, _ in context.invocation_metadata() or ()):
                return None
            self._method.count(STATUS[Overloaded].name)
            return _written(int((error.retry_after or 0.0) * 1000 / _HINT_MS) + 1)
        return None


@lru_cache(maxsize=1024)
def _written(steps: int) -> Refusal:
    """The refusal with its hint, whose writing costs more than all else here."""
    error = Overloaded("the gateway is full", retry_after=steps * _HINT_MS / 1000)
    return STATUS[Overloaded], error.message, ((DETAILS_KEY, details(error).SerializeToString()),)
