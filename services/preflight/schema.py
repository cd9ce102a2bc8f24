"""The tables of the vocabulary, their version, and how a file of words is read into them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from services.runtime.errors import StartupError
from services.sqlite.schema import Schema

VERSION = 1
# A word that a file lists without a number is taken to be as common as this many documents make it.
LISTED = 100
MOST_FILE_BYTES = 16 * 1024 * 1024

# `documents` keeps each document's words, so that they can be taken back; `words` counts in how many they stand.
STATEMENTS = (
    "CREATE TABLE documents (id TEXT PRIMARY KEY, project TEXT NOT NULL, words BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE words (word TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE listed (word TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE VIEW vocabulary AS
        SELECT word, documents FROM words UNION ALL SELECT word, documents FROM listed""",
)
_LINE = re.compile(r"([^\W\d_]+)(?:\s+(\d{1,9}))?")


SCHEMA = Schema("vocabulary", VERSION, STATEMENTS)


def prepare(path: Path, lock_wait: float, listed: Path | None) -> None:
    """Creates the vocabulary where there is none, and reads the file of words; StartupError when either is unusable."""
    words = sorted(dict(_read(listed)).items()) if listed is not None else []

    def relist(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM listed")
        connection.executemany("INSERT INTO listed VALUES (?, ?)", words)

    SCHEMA.prepare(path, lock_wait, relist)


def _read(listed: Path) -> Iterator[tuple[str, int]]:
    """The file's words in lower case; a line is a word and, where known, how many documents hold it."""
    try:
        if listed.stat().st_size > MOST_FILE_BYTES:
            raise StartupError(f"LANEMESH_PREFLIGHT_VOCABULARY={listed}: larger than {MOST_FILE_BYTES} bytes")
        lines = listed.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StartupError(f"LANEMESH_PREFLIGHT_VOCABULARY={listed}: cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip().lower())
        if match is None:
            raise StartupError(f"LANEMESH_PREFLIGHT_VOCABULARY={listed}: line {number} is not a word and a number")
        yield match[1], int(match[2] or LISTED)
