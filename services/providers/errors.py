"""What goes wrong with a provider as errors of the mesh: one table for aiohttp, one for HTTP statuses.

No message holds a URL, a header or the provider's own words: any of them may hold a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import aiohttp
from lanemesh.v1.lane_pb2 import (
    ATTEMPT_OUTCOME_ERROR,
    ATTEMPT_OUTCOME_RATE_LIMITED,
    ATTEMPT_OUTCOME_TIMEOUT,
    ATTEMPT_OUTCOME_UNAUTHORIZED,
    AttemptOutcome,
)

from services.providers import dates
from services.providers.addresses import ForbiddenAddress
from services.runtime.errors import (
    BadReply,
    DeadlinePassed,
    LanemeshError,
    Overloaded,
    Refused,
    Unauthenticated,
    Unavailable,
)

FORBIDDEN_ADDRESS = "FORBIDDEN_ADDRESS"

# The first row that fits is taken, so the narrower kinds stand first. tests/providers/test_errors.py holds it whole.
TRANSLATION: dict[type[Exception], tuple[type[LanemeshError], str]] = {
    aiohttp.ServerTimeoutError: (DeadlinePassed, "did not answer in time"),
    TimeoutError: (DeadlinePassed, "did not answer in time"),
    aiohttp.ClientConnectorDNSError: (Unavailable, "its name cannot be resolved"),
    aiohttp.ClientConnectorCertificateError: (Unavailable, "its certificate is not valid"),
    aiohttp.ClientSSLError: (Unavailable, "no secure connection could be made"),
    aiohttp.ServerFingerprintMismatch: (Unavailable, "its certificate is not valid"),
    aiohttp.ClientConnectionError: (Unavailable, "the connection failed"),
    aiohttp.ClientPayloadError: (BadReply, "the reply broke off"),
    aiohttp.ClientResponseError: (BadReply, "the reply is not HTTP"),
    aiohttp.InvalidURL: (Refused, "it led to an address that is none"),
    aiohttp.ClientError: (Unavailable, "the request failed"),
    OSError: (Unavailable, "the connection failed"),
}

OUTCOMES: dict[type[LanemeshError], AttemptOutcome.ValueType] = {
    DeadlinePassed: ATTEMPT_OUTCOME_TIMEOUT,
    Overloaded: ATTEMPT_OUTCOME_RATE_LIMITED,
    Unauthenticated: ATTEMPT_OUTCOME_UNAUTHORIZED,
}


def outcome(error: LanemeshError) -> AttemptOutcome.ValueType:
    """How the attempt that ended in this error is reported."""
    return OUTCOMES.get(type(error), ATTEMPT_OUTCOME_ERROR)


def translate(error: Exception) -> LanemeshError:
    """An error of the HTTP client as one of the mesh."""
    if isinstance(getattr(error, "os_error", error), ForbiddenAddress):
        return Refused("it led to a private or reserved address", reason=FORBIDDEN_ADDRESS)
    kind, message = next(row for foreign, row in TRANSLATION.items() if isinstance(error, foreign))
    return kind(message)


@contextmanager
def translated() -> Iterator[None]:
    """Raises every error of the HTTP client inside the block as one of the mesh."""
    try:
        yield
    except tuple(TRANSLATION) as error:
        # The cause is left behind: its text quotes the URL, and with it perhaps a key.
        raise translate(error) from None


def check_status(status: int, retry_after: str | None, now: datetime | None = None) -> None:
    """Raises what a status other than success means."""
    if 200 <= status < 300:
        return
    if status == 429 or (status == 503 and retry_after):
        raise Overloaded("its rate limit is reached", retry_after=read_retry_after(retry_after, now))
    if status in (401, 402, 403, 407):
        raise Unauthenticated(f"it refused the request or the key (HTTP {status})")
    if status in (408, 504):
        raise DeadlinePassed(f"it ran out of time itself (HTTP {status})")
    if status >= 500:
        raise Unavailable(f"it failed (HTTP {status})")
    raise Refused(f"it refused the request (HTTP {status})")


def read_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds to wait, from a number or an HTTP date; None when it says nothing usable."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    moment = dates.mail(text)
    return None if moment is None else max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0)
