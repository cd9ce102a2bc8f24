"""What goes wrong between here and a model, as errors of the mesh: one table for exceptions, one for HTTP statuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp

from services.runtime.errors import BadReply, DeadlinePassed, LanemeshError, Overloaded, Refused, Unavailable

# The first row that fits counts; aiohttp's time-outs are connection errors as well, so they come first.
TRANSLATION: dict[type[Exception], tuple[type[LanemeshError], str]] = {
    TimeoutError: (DeadlinePassed, "the model did not answer in time"),
    aiohttp.InvalidURL: (Unavailable, "the model's address cannot be used"),
    aiohttp.ClientPayloadError: (BadReply, "the model broke its reply off"),
    aiohttp.ClientResponseError: (BadReply, "the model answered with broken HTTP"),
    aiohttp.ClientError: (Unavailable, "the model cannot be reached"),
    OSError: (Unavailable, "the model cannot be reached"),
}

KEY_REFUSED = "MODEL_KEY_REFUSED"
TOO_MANY = 429
# Statuses with a meaning of their own; any other from 500 on is an outage, below it a refusal.
REFUSALS = {
    401: "the model refused the key",
    403: "the model refused the key",
    404: "the model or its address is unknown",
    413: "the prompt is too large for the model",
}
OUTAGES = {408: "the model gave the request up", 425: "the model is not ready"}


@contextmanager
def translated() -> Iterator[None]:
    """Raises every foreign error inside the block as one of the mesh, without its text, which may quote a header."""
    try:
        yield
    except tuple(TRANSLATION) as error:
        raise translate(error) from None


def translate(error: Exception) -> LanemeshError:
    """The mesh's own error for an exception of the table."""
    kind, message = next(row for foreign, row in TRANSLATION.items() if isinstance(error, foreign))
    return kind(message)


def of_status(status: int, retry_after: str) -> LanemeshError:
    """The mesh's own error for a status other than 200; `retry_after` is the header of that name, or empty."""
    if status == TOO_MANY:
        return Overloaded("the model's rate limit is reached", retry_after=_seconds(retry_after))
    if status >= 500 or status in OUTAGES:
        return Unavailable(OUTAGES.get(status, f"the model failed with HTTP {status}"))
    reason = KEY_REFUSED if status in (401, 403) else f"HTTP_{status}"
    return Refused(REFUSALS.get(status, f"the model refused with HTTP {status}"), reason=reason)


def _seconds(retry_after: str) -> float | None:
    """The header's number of seconds; its other form, a date, is left to the usual rest."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None
