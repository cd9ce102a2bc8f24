"""Errors of SQLite as errors of the mesh, by one table over SQLite's primary result codes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from services.runtime.errors import DeadlinePassed, LanemeshError, StartupError, Unavailable

# Every primary code that means failure; tests/sqlite/test_errors.py holds the table against the sqlite3 module.
TRANSLATION: dict[int, tuple[type[LanemeshError], str]] = {
    sqlite3.SQLITE_INTERRUPT: (DeadlinePassed, "the deadline passed during the query"),
    sqlite3.SQLITE_BUSY: (Unavailable, "the index is locked by another process"),
    sqlite3.SQLITE_LOCKED: (Unavailable, "the index is locked"),
    sqlite3.SQLITE_IOERR: (Unavailable, "the index cannot be read or written"),
    sqlite3.SQLITE_FULL: (Unavailable, "the disk of the index is full"),
    sqlite3.SQLITE_CANTOPEN: (Unavailable, "the index file cannot be opened"),
    sqlite3.SQLITE_READONLY: (Unavailable, "the index file is read-only"),
    sqlite3.SQLITE_PERM: (Unavailable, "the index file is not accessible"),
    sqlite3.SQLITE_AUTH: (Unavailable, "the index refused access"),
    sqlite3.SQLITE_PROTOCOL: (Unavailable, "the index's locks are in disorder"),
    sqlite3.SQLITE_CORRUPT: (Unavailable, "the index is damaged and must be rebuilt"),
    sqlite3.SQLITE_NOTADB: (Unavailable, "the index file is not a SQLite database"),
    sqlite3.SQLITE_NOLFS: (Unavailable, "the file system cannot hold so large an index"),
    sqlite3.SQLITE_NOMEM: (Unavailable, "there is not enough memory for the query"),
    sqlite3.SQLITE_SCHEMA: (Unavailable, "the index changed under the query"),
    sqlite3.SQLITE_ERROR: (LanemeshError, "the index refused a statement"),
    sqlite3.SQLITE_INTERNAL: (LanemeshError, "the index failed inside"),
    sqlite3.SQLITE_ABORT: (LanemeshError, "the statement was aborted"),
    sqlite3.SQLITE_NOTFOUND: (LanemeshError, "the index lacks an operation"),
    sqlite3.SQLITE_EMPTY: (LanemeshError, "the index is empty inside"),
    sqlite3.SQLITE_TOOBIG: (LanemeshError, "a value is too large for the index"),
    sqlite3.SQLITE_CONSTRAINT: (LanemeshError, "a record breaks a rule of the index"),
    sqlite3.SQLITE_MISMATCH: (LanemeshError, "a value is of the wrong type"),
    sqlite3.SQLITE_MISUSE: (LanemeshError, "the index was used wrongly"),
    sqlite3.SQLITE_FORMAT: (LanemeshError, "the index has an unknown format"),
    sqlite3.SQLITE_RANGE: (LanemeshError, "a bind variable is out of range"),
}
# Errors the sqlite3 module raises by itself carry no code: a closed connection, a wrong number of bind variables.
UNCODED = (LanemeshError, "the index was used wrongly")
PRIMARY = 0xFF


def translate(error: sqlite3.Error) -> LanemeshError:
    """The mesh's own error, without SQLite's text, which may quote a document."""
    code = getattr(error, "sqlite_errorcode", None)
    kind, message = UNCODED if code is None else TRANSLATION.get(code & PRIMARY, UNCODED)
    return kind(message)


@contextmanager
def translated() -> Iterator[None]:
    """Raises every error of SQLite inside the block as one of the mesh."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error) from error


@contextmanager
def refusing_to_start(path: object) -> Iterator[None]:
    """Raises every error inside the block as a StartupError that names the file."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StartupError(f"the index {path} cannot be opened: {error}") from error
