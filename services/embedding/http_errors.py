"""Failures of an embedding endpoint as errors of the mesh, by one table. What the endpoint wrote is never passed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NoReturn

import aiohttp

from services.runtime.errors import BadReply, DeadlinePassed, LanemeshError, Overloaded, Refused, Unavailable

# Soonest that an endpoint is asked again, whatever it says, in seconds.
LEAST_WAIT = 0.02

# Status → error and what a person is told. What is not listed follows its hundred.
STATUSES: dict[int, tuple[type[LanemeshError], str]] = {
    200: (BadReply, "sent a reply of an unknown kind"),
    300: (BadReply, "redirects elsewhere, which is not followed"),
    400: (Refused, "refused the request"),
    401: (Unavailable, "refused the key in LANEMESH_EMBEDDING_KEY"),
    403: (Unavailable, "refused the key in LANEMESH_EMBEDDING_KEY"),
    404: (Unavailable, "knows no such model or path"),
    408: (DeadlinePassed, "waited too long for the request"),
    429: (Overloaded, "asks to come again later"),
    500: (Unavailable, "failed"),
    503: (Unavailable, "is not available"),
    504: (DeadlinePassed, "was too slow"),
}
# Exceptions in the order they are tried: a time-out of aiohttp is both of its error and of TimeoutError.
EXCEPTIONS: dict[type[Exception], tuple[type[LanemeshError], str]] = {
    TimeoutError: (DeadlinePassed, "did not answer before the deadline"),
    aiohttp.ClientPayloadError: (BadReply, "broke off its reply"),
    aiohttp.ClientResponseError: (BadReply, "sent something that is not HTTP"),
    aiohttp.ClientError: (Unavailable, "cannot be reached"),
    OSError: (Unavailable, "cannot be reached"),
}


def raise_for(status: int, wait: float | None) -> NoReturn:
    """Raises what a status other than 200 means."""
    kind, message = STATUSES.get(status) or STATUSES.get(status // 100 * 100, STATUSES[200])
    told = f"the embedding endpoint {message} (HTTP {status})"
    raise Overloaded(told, retry_after=wait) if kind is Overloaded else kind(told)


@contextmanager
def translated() -> Iterator[None]:
    """Raises every error of aiohttp inside the block as one of the mesh."""
    try:
        yield
    except tuple(EXCEPTIONS) as error:
        kind, message = next(row for foreign, row in EXCEPTIONS.items() if isinstance(error, foreign))
        raise kind(f"the embedding endpoint {message}") from error


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds until the endpoint wants to be asked again; None when it does not say."""
    raw = headers.get("Retry-After", "").strip()
    if not raw:
        return None
    try:
        seconds = float(raw) if raw.replace(".", "", 1).isdigit() else _until(parsedate_to_datetime(raw))
    except ValueError:
        return None
    return max(LEAST_WAIT, seconds)


def _until(moment: datetime) -> float:
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
