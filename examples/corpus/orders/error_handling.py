"""Error handling pattern of OrderService: catch narrowly, classify, decide, wrap.

Every call to a dependency goes through `guarded`. Transient errors are retried by the caller,
permanent ones go back to it, and an unknown outcome is looked up before anything is sent again.
PaymentAdapter is called with `retry=False`, because it retries on its own.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import httpx
import psycopg
from vh_errors import PermanentError, TransientError, UnknownOutcomeError
from vh_retry import retry_with_jitter

log = logging.getLogger("orders.errors")
T = TypeVar("T")

TRANSIENT_STATUS = frozenset({429, 502, 503, 504})


@contextmanager
def classified(operation: str, trace_id: str) -> Iterator[None]:
    """Turn the errors of the libraries into the three classes of vh-errors."""
    try:
        yield
    except (httpx.ConnectError, psycopg.OperationalError) as exc:
        log.warning("%s is unavailable, trace=%s", operation, trace_id)
        raise TransientError("DEPENDENCY_UNAVAILABLE", operation, trace_id) from exc
    except httpx.HTTPStatusError as exc:
        status = exc.response.status_code
        if status in TRANSIENT_STATUS:
            log.warning("%s answered %d, trace=%s", operation, status, trace_id)
            raise TransientError("DEPENDENCY_BUSY", operation, trace_id) from exc
        if status == 409:
            log.info("%s lost a race for the order version, trace=%s", operation, trace_id)
            raise PermanentError("CONFLICT", operation, trace_id) from exc
        log.info("%s refused the request with %d, trace=%s", operation, status, trace_id)
        raise PermanentError("REQUEST_REFUSED", operation, trace_id) from exc
    except httpx.ReadTimeout as exc:
        log.error("%s sent no answer, outcome unknown, trace=%s", operation, trace_id)
        raise UnknownOutcomeError("NO_ANSWER", operation, trace_id) from exc


def guarded(
    operation: str,
    call: Callable[[], T],
    look_up: Callable[[], T | None],
    trace_id: str,
    retry: bool = True,
) -> T:
    """Run a call, retry what may go away, and look up what may already have happened."""

    def attempt() -> T:
        with classified(operation, trace_id):
            return call()

    try:
        return retry_with_jitter(attempt, retry_on=TransientError) if retry else attempt()
    except UnknownOutcomeError:
        found = look_up()
        if found is None:
            raise
        log.info("%s had succeeded after all, trace=%s", operation, trace_id)
        return found
