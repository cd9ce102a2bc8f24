"""The tables of the embedded index, their version, and how a connection to them is opened."""

# ruff: noqa: S608 - statements are made of constants and bind marks; what a caller sent is always a bound value.

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from services.keyword.rows import COLUMNS
from services.runtime.errors import StartupError
from services.sqlite.schema import Schema

VERSION = 2
# Weights of title, content, summary and unspaced text in bm25; measured on SciFact and Cranfield, where 3 to 5 for
# titles are alike.
RANK = "bm25(4.0, 1.0, 1.0, 1.0)"

_COLUMNS = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
_FOLDING = "unicode61 remove_diacritics 2"
_TEXTS = "title, content, summary"


def _of(row: str, columns: str) -> str:
    return ", ".join(f"{row}.{column}" for column in columns.split(", "))


def _add(table: str, columns: str) -> str:
    return f"INSERT INTO {table}(rowid, {columns}) VALUES (new.number, {_of('new', columns)});"


def _remove(table: str, columns: str) -> str:
    return f"INSERT INTO {table}({table}, rowid, {columns}) VALUES ('delete', old.number, {_of('old', columns)});"


_ADD_BOTH = _add("search", f"{_TEXTS}, unspaced") + _add("words", _TEXTS)
_REMOVE_BOTH = _remove("search", f"{_TEXTS}, unspaced") + _remove("words", _TEXTS)
_UNMARK = "DELETE FROM tags WHERE document = old.number; DELETE FROM labels WHERE document = old.number;"

# `search` holds stems for ranking, and text of scripts without spaces character by character; `words` the words as
# written, without positions, against which typos are corrected.
STATEMENTS = (
    f"CREATE TABLE documents (number INTEGER PRIMARY KEY, {_COLUMNS})",
    "CREATE TABLE tags (document INTEGER, tag TEXT, PRIMARY KEY (document, tag)) WITHOUT ROWID",
    "CREATE TABLE labels (document INTEGER, label TEXT, PRIMARY KEY (document, label)) WITHOUT ROWID",
    "CREATE TABLE state (generation INTEGER NOT NULL)",
    "INSERT INTO state VALUES (0)",
    f"""CREATE VIRTUAL TABLE search USING fts5(title, content, summary, unspaced,
        content='documents', content_rowid='number', tokenize='porter {_FOLDING}')""",
    f"""CREATE VIRTUAL TABLE words USING fts5(title, content, summary,
        content='documents', content_rowid='number', tokenize='{_FOLDING}', detail=none, columnsize=0)""",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab('words', 'row')",
    f"INSERT INTO search(search, rank) VALUES ('rank', '{RANK}')",
    f"CREATE TRIGGER added AFTER INSERT ON documents BEGIN {_ADD_BOTH} END",
    f"CREATE TRIGGER removed AFTER DELETE ON documents BEGIN {_REMOVE_BOTH} {_UNMARK} END",
    f"CREATE TRIGGER changed AFTER UPDATE ON documents BEGIN {_UNMARK} END",
    f"""CREATE TRIGGER reworded AFTER UPDATE ON documents
        WHEN (old.title, old.content, old.summary) IS NOT (new.title, new.content, new.summary)
        BEGIN {_REMOVE_BOTH} {_ADD_BOTH} END""",
)


SCHEMA = Schema("keyword index", VERSION, STATEMENTS)


def prepare(path: Path, lock_wait: float) -> None:
    """Creates the index where there is none; StartupError when it, or SQLite itself, cannot be used."""
    with closing(sqlite3.connect(":memory:")) as connection:
        require_fts5(connection)
    SCHEMA.prepare(path, lock_wait)


def require_fts5(connection: sqlite3.Connection) -> None:
    """StartupError when this SQLite was built without full-text search."""
    try:
        connection.execute("SELECT fts5_source_id()")
    except sqlite3.OperationalError as error:
        message = f"SQLite {sqlite3.sqlite_version} of this Python lacks FTS5, which the keyword index needs"
        raise StartupError(message) from error
