"""Errors of Meilisearch and of its client as errors of the mesh, by one table over exceptions and HTTP statuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pydantic
import requests
from google.protobuf import json_format
from meilisearch.errors import (
    MeilisearchApiError,
    MeilisearchCommunicationError,
    MeilisearchError,
    MeilisearchTimeoutError,
)
from meilisearch.models.task import Task

from services.runtime.errors import BadReply, DeadlinePassed, LanemeshError, Overloaded, Refused, Unavailable

Meaning = tuple[type[LanemeshError], str]

# What the client raises, the special before the general; tests/keyword/test_meili_errors.py holds it to the library.
# The built-in ones come from the client's reading of a reply that has not the documented shape.
EXCEPTIONS: dict[type[Exception], Meaning] = {
    MeilisearchTimeoutError: (DeadlinePassed, "Meilisearch did not answer in time"),
    MeilisearchCommunicationError: (Unavailable, "Meilisearch cannot be reached"),
    MeilisearchError: (LanemeshError, "the Meilisearch client failed"),
    requests.exceptions.ChunkedEncodingError: (Unavailable, "the connection to Meilisearch was lost"),
    requests.exceptions.RequestException: (BadReply, "Meilisearch answered something unreadable"),
    pydantic.ValidationError: (BadReply, "Meilisearch answered something unreadable"),
    json_format.Error: (BadReply, "the Meilisearch index holds a document that is not this lane's"),
    TypeError: (BadReply, "Meilisearch answered something unreadable"),
    AttributeError: (BadReply, "Meilisearch answered something unreadable"),
    LookupError: (BadReply, "Meilisearch answered something unreadable"),
    ValueError: (BadReply, "Meilisearch answered something unreadable"),
}
# What the server answers; a status that is not listed means what the first of its hundred means.
STATUSES: dict[int, Meaning] = {
    300: (BadReply, "Meilisearch answered with a redirection"),
    400: (Refused, "Meilisearch refused the request"),
    401: (Unavailable, "Meilisearch demands an API key (MEILI_API_KEY)"),
    403: (Unavailable, "Meilisearch refused the API key (MEILI_API_KEY)"),
    404: (Unavailable, "Meilisearch does not have the index"),
    408: (DeadlinePassed, "Meilisearch did not answer in time"),
    409: (Unavailable, "Meilisearch is busy with a conflicting change"),
    413: (Refused, "Meilisearch refused the request for its size"),
    429: (Overloaded, "Meilisearch has too many searches under way"),
    500: (Unavailable, "Meilisearch failed inside"),
    504: (DeadlinePassed, "a proxy waited for Meilisearch in vain"),
}
# The types of error a failed task may carry.
TASKS: dict[str, type[LanemeshError]] = {
    "invalid_request": Refused,
    "auth": Unavailable,
    "internal": Unavailable,
    "system": Unavailable,
}
KEY_REFUSED = frozenset({"INVALID_API_KEY", "MISSING_AUTHORIZATION_HEADER"})
_CODE = re.compile(r"[a-z_]{3,64}")
_MESSAGE_CHARACTERS = 200


def translate(error: Exception) -> LanemeshError:
    """The mesh's own error, with Meilisearch's error code as its reason; its text may quote a query and stays out."""
    if isinstance(error, MeilisearchApiError):
        kind, message = STATUSES.get(error.status_code) or STATUSES[error.status_code // 100 * 100]
        return _named(kind(message), error.code)
    kind, message = next(meaning for foreign, meaning in EXCEPTIONS.items() if isinstance(error, foreign))
    return kind(message)


def failure_of(task: Task) -> LanemeshError:
    """Why a task did not succeed, in Meilisearch's own words: they are about the records of whoever sent them."""
    told = task.error or {"code": f"task_{task.status}", "type": "internal", "message": "the task was given up"}
    kind = TASKS.get(str(told.get("type")), Unavailable)
    words = " ".join(str(told.get("message", "")).split())[:_MESSAGE_CHARACTERS]
    return _named(kind(f"Meilisearch could not finish the task ({told.get('code')}): {words}"), told.get("code"))


@contextmanager
def translated() -> Iterator[None]:
    """Raises every error of the client inside the block as one of the mesh."""
    try:
        yield
    except tuple(EXCEPTIONS) as error:
        raise translate(error) from error


def _named(error: LanemeshError, code: object) -> LanemeshError:
    if isinstance(code, str) and _CODE.fullmatch(code) and not isinstance(error, Overloaded):
        error.reason = code.upper()
    return error
