"""Errors of ArangoDB and of its client as errors of the mesh, by one table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import requests
from arango.exceptions import ArangoClientError, ArangoError, ArangoServerError

from services.runtime.errors import BadReply, DeadlinePassed, LanemeshError, Overloaded, Unavailable

# By HTTP status; a class of statuses by its first digit.
STATUSES: dict[int, tuple[type[LanemeshError], str]] = {
    401: (Unavailable, "the graph server refuses the lane's credentials"),
    403: (Unavailable, "the graph server forbids the lane its database"),
    404: (Unavailable, "the graph server lacks the database or the graph"),
    408: (DeadlinePassed, "the graph server gave the query up"),
    409: (Unavailable, "another writer holds the graph's records"),
    410: (DeadlinePassed, "the deadline passed during the query"),
    412: (Overloaded, "the graph server's queue is too long"),
    429: (Overloaded, "the graph server is asked too much"),
    503: (Unavailable, "the graph server is not ready"),
    504: (DeadlinePassed, "the graph server did not answer in time"),
    2: (BadReply, "the graph server's reply cannot be read"),
    3: (BadReply, "the graph server redirects elsewhere"),
    4: (LanemeshError, "the graph server refused a statement"),
    5: (Unavailable, "the graph server failed"),
}
# By exception, the first that fits. What python-arango does not check in a reply surfaces as the last four.
EXCEPTIONS: dict[type[Exception], tuple[type[LanemeshError], str]] = {
    requests.Timeout: (DeadlinePassed, "the graph server did not answer in time"),
    requests.ConnectionError: (Unavailable, "the graph server cannot be reached"),
    requests.RequestException: (Unavailable, "the graph server cannot be talked to"),
    ConnectionError: (Unavailable, "the graph server cannot be reached"),
    ArangoClientError: (BadReply, "the graph server's reply cannot be read"),
    ArangoError: (LanemeshError, "the graph server's client failed"),
    KeyError: (BadReply, "the graph server's reply lacks a field"),
    TypeError: (BadReply, "the graph server's reply cannot be read"),
    AttributeError: (BadReply, "the graph server's reply cannot be read"),
    ValueError: (BadReply, "the graph server's reply cannot be read"),
}


def translate(error: Exception) -> LanemeshError:
    """The mesh's own error, without the server's text, which may quote a record."""
    if isinstance(error, ArangoServerError):
        status = error.http_code
        kind, message = STATUSES.get(status) or STATUSES.get(status // 100) or STATUSES[5]
        return kind(message)
    kind, message = next(told for foreign, told in EXCEPTIONS.items() if isinstance(error, foreign))
    return kind(message)


@contextmanager
def translated() -> Iterator[None]:
    """Raises every foreign error inside the block as one of the mesh."""
    try:
        yield
    except LanemeshError:
        raise
    except tuple(EXCEPTIONS) as error:
        raise translate(error) from error
