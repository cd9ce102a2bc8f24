"""The embedded engine: SQLite's FTS5 with Porter stemming, ranked by bm25."""

# ruff: noqa: S608 - statements are made of constants and bind marks; what a caller sent is always a bound value.

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import StatsResponse
from lanemesh.v1.lane_pb2 import Filters

from services.keyword.engine import Found, Hit
from services.keyword.filters import Conditions, conditions_of, opened_by
from services.keyword.passage import best_passage, matches_in, stems_of
from services.keyword.query import any_of, apart, words_of
from services.keyword.rows import COLUMNS, SELECTED, to_document, to_row
from services.keyword.schema import prepare
from services.keyword.typo import Vocabulary
from services.runtime.engine import operation
from services.sqlite.connections import Connections
from services.text.unspaced import is_unspaced

# Most distinct words of one query; the rarest are kept.
MOST_WORDS = 64
# A document's number, as the full-text index names it.
NUMBER = "search.rowid"

_PLACES = ", ".join("?" * len(COLUMNS))
_REPLACED = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "id")
_UPSERT = f"INSERT INTO documents ({', '.join(COLUMNS)}) VALUES ({_PLACES}) ON CONFLICT (id) DO UPDATE SET {_REPLACED}"
_TAG = "INSERT OR IGNORE INTO tags SELECT number, ? FROM documents WHERE id = ?"
_LABEL = "INSERT OR IGNORE INTO labels SELECT number, ? FROM documents WHERE id = ?"
_RANKED = "FROM search CROSS JOIN documents ON documents.number = search.rowid WHERE search MATCH ? AND"
_CHANGED = "UPDATE state SET generation = generation + 1"


class SqliteEngine:
    """A full-text index in one file, for one lane process."""

    name = "sqlite-fts5"

    def __init__(self, readers: Connections, writer: Connections, count_limit: int) -> None:
        self._readers = readers
        self._writer = writer
        self._count_limit = count_limit
        self._vocabulary = Vocabulary()

    @classmethod
    async def open(cls, path: Path, *, readers: int, count_limit: int, lock_wait: float) -> SqliteEngine:
        """Opens the index, creating it on first use; StartupError when it cannot be used."""
        prepare(path, lock_wait)
        writer = Connections(path, 1, lock_wait, begin="BEGIN IMMEDIATE")
        return cls(Connections(path, readers, lock_wait, begin="BEGIN"), writer, count_limit)

    @operation
    async def search(self, query: str, filters: Filters, limit: int) -> Found:
        """The best documents for the question's words, typos corrected, filters inside the statement."""
        words = apart(words_of(query))
        if not words:
            return Found((), 0, ())
        return await self._readers.run(partial(self._search, words, filters, limit))

    async def upsert(self, documents: Sequence[Document]) -> None:
        """Stores the batch in one transaction, on disk before it returns."""
        newest = {document.id: document for document in documents}
        await self._writer.run(partial(_store, list(newest.values())))

    async def delete(self, ids: Sequence[str]) -> int:
        """Deletes documents with their words, tags and labels."""
        return await self._writer.run(partial(_delete, list(dict.fromkeys(ids))))

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts the documents the labels open, in all and by project."""
        return await self._readers.run(partial(_stats, self.name, opened_by(access_labels, "documents.number")))

    async def check(self) -> None:
        """Runs one search for a word."""
        await self._readers.run(partial(self._search, ["check"], Filters(), 1))

    async def close(self) -> None:
        """Waits for running statements and closes the file."""
        await self._readers.close()
        await self._writer.close()

    def _search(self, words: list[str], filters: Filters, limit: int, connection: sqlite3.Connection) -> Found:
        chosen = _rarest(connection, words) if len(words) > MOST_WORDS else words
        expanded = self._vocabulary.expand(connection, chosen, filters.access_labels)
        conditions = conditions_of(filters, NUMBER)
        expression = any_of(expanded)
        rows = connection.execute(
            f"SELECT -search.rank, {SELECTED} {_RANKED} {conditions.sql} ORDER BY search.rank LIMIT ?",
            (expression, *conditions.values, limit),
        )
        stems = stems_of(expanded)
        hits = [_hit(stems, *row) for row in rows]
        if len(hits) < limit:
            return Found(hits, len(hits), words)
        counted = connection.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? AND {conditions.sql} LIMIT ?)",
            (expression, *conditions.values, max(self._count_limit, limit)),
        )
        return Found(hits, counted.fetchone()[0], words)


def _hit(stems: list[str], score: float, *row: Any) -> Hit:
    document = to_document(row)
    return Hit(document, score, best_passage(document.content, matches_in(document.content, stems)))


def _rarest(connection: sqlite3.Connection, words: list[str]) -> list[str]:
    statement = f"SELECT term FROM vocabulary WHERE term IN ({','.join('?' * len(words))}) ORDER BY doc LIMIT ?"
    rare = {row[0] for row in connection.execute(statement, (*words, MOST_WORDS))}
    # The vocabulary does not know pairs of characters.
    return [word for word in words if word in rare or is_unspaced(word)][:MOST_WORDS] or words[:MOST_WORDS]


def _store(documents: list[Document], connection: sqlite3.Connection) -> None:
    connection.executemany(_UPSERT, [to_row(document) for document in documents])
    connection.executemany(_TAG, [(tag, document.id) for document in documents for tag in document.tags])
    connection.executemany(_LABEL, [(label, document.id) for document in documents for label in document.access_labels])
    connection.execute(_CHANGED)


def _delete(ids: list[str], connection: sqlite3.Connection) -> int:
    deleted = connection.executemany("DELETE FROM documents WHERE id = ?", [(identity,) for identity in ids]).rowcount
    connection.execute(_CHANGED)
    return max(0, deleted)


def _stats(engine: str, conditions: Conditions, connection: sqlite3.Connection) -> StatsResponse:
    statement = f"SELECT project, count(*) FROM documents WHERE {conditions.sql} GROUP BY project"
    projects = dict(connection.execute(statement, conditions.values).fetchall())
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    page_size = connection.execute("PRAGMA page_size").fetchone()[0]
    return StatsResponse(
        documents=sum(projects.values()),
        documents_by_project=projects,
        engine=engine,
        size_bytes=float(pages * page_size),
    )
