"""The table from SQLite's codes to the mesh's errors is whole and says nothing of SQLite's own text."""

from __future__ import annotations

import sqlite3

import pytest

from services.runtime.errors import STATUS, DeadlinePassed, LanemeshError, Unavailable
from services.sqlite.errors import TRANSLATION, translate

# SQLITE_ERROR to SQLITE_NOTADB; what follows are notices, warnings and rows.
FAILURES = range(sqlite3.SQLITE_ERROR, sqlite3.SQLITE_NOTADB + 1)


def test_every_failure_has_a_translation() -> None:
    assert set(TRANSLATION) == set(FAILURES)
    assert {kind for kind, _ in TRANSLATION.values()} <= set(STATUS)


@pytest.mark.parametrize("kind", [kind for kind in vars(sqlite3).values() if isinstance(kind, type)])
def test_every_exception_class_is_translated(kind: type) -> None:
    if issubclass(kind, sqlite3.Error):
        translated = translate(kind("secret text"))
        assert type(translated) is LanemeshError
        assert "secret" not in translated.message


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_INTERRUPT, DeadlinePassed),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Unavailable),
        (sqlite3.SQLITE_IOERR_READ, Unavailable),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, LanemeshError),
    ],
)
def test_extended_codes_follow_their_primary(code: int, kind: type[LanemeshError]) -> None:
    error = sqlite3.OperationalError("secret text")
    error.sqlite_errorcode = code
    assert type(translate(error)) is kind
