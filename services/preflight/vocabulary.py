"""The words of the mesh's documents, with the number of documents that hold each, against which spelling is checked.

Only public documents are learnt: a word of a labelled one must not show in advice to somebody who may not read it.
"""

# ruff: noqa: S608 - statements are made of constants and bind marks; what a caller sent is always a bound value.

from __future__ import annotations

import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import StatsResponse

from services.preflight.schema import prepare
from services.sqlite.connections import Connections

ENGINE = "sqlite"
# Shorter words are never corrected, longer ones are not words.
_WORD = re.compile(r"[^\W\d_]{4,32}")
MOST_WORDS = 20_000
# Bind variables of one statement; SQLite allows more.
MARKS = 500
MOST_NEIGHBOURS = 5_000

_COUNT = "INSERT INTO words VALUES (?, ?) ON CONFLICT (word) DO UPDATE SET documents = documents + excluded.documents"
_KEEP = "INSERT INTO documents VALUES (?, ?, ?)"


class Vocabulary:
    """The words in one file, for one lane process."""

    def __init__(self, readers: Connections, writer: Connections) -> None:
        self._readers = readers
        self._writer = writer

    @classmethod
    async def open(cls, path: Path, *, readers: int, lock_wait: float, listed: Path | None) -> Vocabulary:
        """Opens the vocabulary, creating it on first use; StartupError when it cannot be used."""
        prepare(path, lock_wait, listed)
        writer = Connections(path, 1, lock_wait, begin="BEGIN IMMEDIATE")
        return cls(Connections(path, readers, lock_wait, begin="BEGIN"), writer)

    async def learn(self, documents: Sequence[Document]) -> None:
        """Stores the words of the batch in one transaction, each document in place of its old self."""
        newest = {document.id: document for document in documents}
        await self._writer.run(partial(_learn, newest))

    async def forget(self, ids: Sequence[str]) -> int:
        """Takes the words of these documents back; returns how many were known."""
        return await self._writer.run(partial(_forget, list(dict.fromkeys(ids))))

    async def counts(self, words: Iterable[str]) -> Mapping[str, int]:
        """How many documents hold each of the words; the unknown are left out."""
        return await self._readers.run(partial(_counts, list(words)))

    async def beginning(self, prefix: str, shortest: int, longest: int, least: int) -> Mapping[str, int]:
        """The words with that prefix and a length in the range that at least so many documents hold."""
        return await self._readers.run(partial(_beginning, prefix, shortest, longest, least))

    async def stats(self) -> StatsResponse:
        """Counts the documents whose words are known."""
        return await self._readers.run(_stats)

    async def check(self) -> None:
        """Looks one word up."""
        await self.counts(["check"])

    async def close(self) -> None:
        """Waits for running statements and closes the file."""
        await self._readers.close()
        await self._writer.close()


def words_of(document: Document) -> list[str]:
    """The distinct words of title and content, in lower case."""
    found = _WORD.findall(f"{document.title}\n{document.content}".lower())
    return list(dict.fromkeys(found))[:MOST_WORDS]


def _learn(documents: Mapping[str, Document], connection: sqlite3.Connection) -> None:
    change = _taken_back(list(documents), connection)
    rows = []
    for document in documents.values():
        if document.access_labels:
            continue
        words = words_of(document)
        change.update(words)
        rows.append((document.id, document.project, zlib.compress(" ".join(words).encode(), level=1)))
    connection.executemany(_KEEP, rows)
    _apply(change, connection)


def _forget(ids: list[str], connection: sqlite3.Connection) -> int:
    before = connection.total_changes
    change = _taken_back(ids, connection)
    forgotten = connection.total_changes - before
    _apply(change, connection)
    return forgotten


def _taken_back(ids: list[str], connection: sqlite3.Connection) -> Counter[str]:
    """Deletes what is kept of the documents; the change of each of their words, all negative."""
    change: Counter[str] = Counter()
    for some in _chunks(ids):
        for (packed,) in connection.execute(
            f"DELETE FROM documents WHERE id IN ({_marks(some)}) RETURNING words", some
        ):
            change.subtract(zlib.decompress(packed).decode().split())
    return change


def _apply(change: Counter[str], connection: sqlite3.Connection) -> None:
    # In the order of the table, so that neighbouring words share their pages.
    connection.executemany(_COUNT, sorted((word, count) for word, count in change.items() if count))
    gone = [(word,) for word, count in change.items() if count < 0]
    connection.executemany("DELETE FROM words WHERE word = ? AND documents <= 0", gone)


def _counts(words: list[str], connection: sqlite3.Connection) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for some in _chunks(words):
        for word, documents in connection.execute(
            f"SELECT word, documents FROM vocabulary WHERE word IN ({_marks(some)})", some
        ):
            counts[word] += documents
    return counts


def _beginning(prefix: str, shortest: int, longest: int, least: int, connection: sqlite3.Connection) -> dict[str, int]:
    statement = """SELECT word, documents FROM vocabulary
        WHERE word >= ? AND word < ? AND documents >= ? AND length(word) BETWEEN ? AND ? LIMIT ?"""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return dict(connection.execute(statement, (prefix, end, least, shortest, longest, MOST_NEIGHBOURS)).fetchall())


def _stats(connection: sqlite3.Connection) -> StatsResponse:
    projects = dict(connection.execute("SELECT project, count(*) FROM documents GROUP BY project").fetchall())
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    page_size = connection.execute("PRAGMA page_size").fetchone()[0]
    return StatsResponse(
        documents=sum(projects.values()),
        documents_by_project=projects,
        engine=ENGINE,
        size_bytes=float(pages * page_size),
    )


def _chunks(values: list[str]) -> Iterable[list[str]]:
    return (values[start : start + MARKS] for start in range(0, len(values), MARKS))


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))
