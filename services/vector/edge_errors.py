"""Errors of the embedded Qdrant as errors of the mesh, by one table over the beginnings of its messages.

The library raises plain exceptions, so that the message is all there is to tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from services.runtime.errors import DeadlinePassed, LanemeshError, StartupError, Unavailable

TRANSLATION: dict[str, tuple[type[LanemeshError], str]] = {
    "Service runtime error": (Unavailable, "the collection cannot be read or written"),
    "Inconsistent storage": (Unavailable, "the collection is damaged and must be rebuilt"),
    "Out of memory": (Unavailable, "there is not enough memory for the operation"),
    "Operation cancelled": (DeadlinePassed, "the operation was given up"),
    "Operation timed out": (DeadlinePassed, "the operation took too long"),
    "Vector dimension error": (LanemeshError, "a vector has the wrong dimension"),
    "Wrong input": (LanemeshError, "the collection refused an operation"),
    "Validation failed": (LanemeshError, "the collection refused an operation"),
    "No appropriate index": (LanemeshError, "the collection lacks an index"),
}
UNKNOWN = (LanemeshError, "the collection failed in an unknown way")


def translate(error: Exception) -> LanemeshError:
    """The mesh's own error, without the library's text, which may quote a document."""
    text = str(error)
    kind, message = next((row for start, row in TRANSLATION.items() if text.startswith(start)), UNKNOWN)
    return kind(message)


@contextmanager
def translated() -> Iterator[None]:
    """Raises every error of the library inside the block as one of the mesh."""
    try:
        yield
    except LanemeshError:
        raise
    except Exception as error:
        raise translate(error) from error


@contextmanager
def refusing_to_start(path: object) -> Iterator[None]:
    """Raises every error inside the block as a StartupError that names the folder."""
    try:
        yield
    except StartupError:
        raise
    except Exception as error:
        raise StartupError(f"the collection {path} cannot be opened: {error}") from error
