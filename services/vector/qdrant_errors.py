"""Errors of a Qdrant server and its client as errors of the mesh, by one table over the names of gRPC's statuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

from services.runtime.errors import BadReply, DeadlinePassed, LanemeshError, Overloaded, Refused, Unavailable

# Every status that means failure; tests/vector/test_qdrant.py holds the table against gRPC's own list.
TRANSLATION: dict[str, tuple[type[LanemeshError], str]] = {
    "CANCELLED": (Unavailable, "dropped the call"),
    "UNKNOWN": (Unavailable, "failed in an unknown way"),
    "INVALID_ARGUMENT": (Refused, "refused an operation"),
    "DEADLINE_EXCEEDED": (DeadlinePassed, "did not answer before the deadline"),
    "NOT_FOUND": (Unavailable, "lacks the collection"),
    "ALREADY_EXISTS": (Refused, "already has what was to be created"),
    "PERMISSION_DENIED": (Unavailable, "refused the key in QDRANT_API_KEY"),
    "RESOURCE_EXHAUSTED": (Overloaded, "asks to come again later"),
    "FAILED_PRECONDITION": (Refused, "is not in a state for the operation"),
    "ABORTED": (Unavailable, "gave the operation up"),
    "OUT_OF_RANGE": (Refused, "refused a number"),
    "UNIMPLEMENTED": (Unavailable, "does not know the operation; it may be too old"),
    "INTERNAL": (Unavailable, "failed inside"),
    "UNAVAILABLE": (Unavailable, "cannot be reached"),
    "DATA_LOSS": (Unavailable, "has lost data"),
    "UNAUTHENTICATED": (Unavailable, "refused the key in QDRANT_API_KEY"),
}


def translate(error: Exception) -> LanemeshError:
    """The mesh's own error, without the server's text, which may quote a document."""
    if isinstance(error, TimeoutError):
        return DeadlinePassed("the Qdrant server did not answer before the deadline")
    if isinstance(error, ResourceExhaustedResponse):
        return Overloaded("the Qdrant server asks to come again later", retry_after=float(error.retry_after_s))
    kind, message = TRANSLATION.get(_status(error), (BadReply, "sent something that cannot be read"))
    return kind(f"the Qdrant server {message}")


def _status(error: Exception) -> str:
    # The errors of gRPC are known by what they offer: a lane does not import it.
    code = getattr(error, "code", None)
    return str(getattr(code(), "name", "")) if callable(code) else ""


@contextmanager
def translated() -> Iterator[None]:
    """Raises every error of client and server inside the block as one of the mesh."""
    try:
        yield
    except LanemeshError:
        raise
    except Exception as error:
        raise translate(error) from error
