"""The embedded engine: a knowledge graph in SQLite tables."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, StatsResponse, UpsertRequest
from lanemesh.v1.lane_pb2 import Filters

from services.kg import binds, statements, store
from services.kg.binds import Binds, unsealed
from services.kg.engine import LINK_LIMIT, SPOKE_SAMPLE, Edge, Handle, Mention, Named, Node, Spoke
from services.kg.paths import Search, Step
from services.kg.schema import SCHEMA
from services.kg.vocabulary import telling
from services.runtime.engine import operation
from services.sqlite.connections import Connections


class SqliteEngine:
    """A graph in one file, for one lane process."""

    name = "sqlite-graph"

    def __init__(self, readers: Connections, writer: Connections) -> None:
        self._readers = readers
        self._writer = writer

    @classmethod
    async def open(cls, path: Path, *, readers: int, lock_wait: float) -> SqliteEngine:
        """Opens the graph, creating it on first use; StartupError when it cannot be used."""
        SCHEMA.prepare(path, lock_wait)
        writer = Connections(path, 1, lock_wait, begin="BEGIN IMMEDIATE")
        return cls(Connections(path, readers, lock_wait, begin="BEGIN"), writer)

    @operation
    async def link(self, keys: Sequence[str], filters: Filters) -> Sequence[Named]:
        """Looks all keys up at once, then the entities of those that are known."""
        return await self._readers.run(partial(_link, json.dumps(list(keys)), binds.of(filters)))

    @operation
    async def spokes(self, handles: Sequence[Handle], filters: Filters) -> Sequence[Spoke]:
        """Skips from type to type in the index, so that an entity with many relations costs no more."""
        return await self._readers.run(partial(_spokes, binds.of(filters) | _handles(handles[:SPOKE_SAMPLE])))

    @operation
    async def expand(
        self, handles: Sequence[Handle], spokes: Sequence[Spoke], filters: Filters, limit: int
    ) -> Sequence[Edge]:
        """The surest relations of these types."""
        given = binds.of(filters) | _handles(handles) | {"limit": limit}
        return await self._readers.run(partial(_expand, list(spokes), given))

    @operation
    async def paths(
        self, start: Handle, end: Handle, relations: Sequence[str], hops: int, filters: Filters, count: int
    ) -> Sequence[Sequence[Edge]]:
        """Searches from both ends inside one transaction."""
        search = partial(_paths, int(start), int(end), list(relations), hops, count, binds.of(filters))
        return await self._readers.run(search)

    @operation
    async def projects(self, handles: Sequence[Handle], filters: Filters) -> Mapping[Handle, Sequence[str]]:
        """An entity's own projects, or those of its relations."""
        return await self._readers.run(partial(_projects, list(handles), binds.of(filters)))

    @operation
    async def documents(self, handles: Sequence[Handle], filters: Filters, limit: int) -> Sequence[Mention]:
        """Finds the names as phrases, so that links need no upkeep."""
        given = binds.of_documents(filters) | {"limit": limit}
        return await self._readers.run(partial(_documents, list(handles), given))

    async def upsert(self, records: Sequence[UpsertRequest]) -> None:
        """Stores the batch in one transaction, on disk before it returns."""
        await self._writer.run(lambda connection: store.Writer(connection).store(records))

    async def delete(self, request: DeleteRequest) -> int:
        """Deletes what is named, and what hangs on it."""
        return await self._writer.run(partial(store.delete, request))

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts what the labels open."""
        return await self._readers.run(partial(_stats, self.name, binds.of(Filters(access_labels=access_labels))))

    async def check(self) -> None:
        """Looks one name up."""
        await self.link(["check"], Filters())

    async def close(self) -> None:
        """Waits for running statements and closes the file."""
        await self._readers.close()
        await self._writer.close()


def _handles(handles: Sequence[Handle]) -> Binds:
    return {"handles": json.dumps(list(handles))}


def _node(row: Sequence[Any]) -> Node:
    number, identity, name, kind, description, confidence, projects = row
    return Node(number, identity, name, kind, description, confidence, _names(projects))


def _names(array: str) -> tuple[str, ...]:
    return tuple(unsealed(name) for name in json.loads(array)) if array != "[]" else ()


def _edge(row: Sequence[Any]) -> Edge:
    source, relation, against, confidence, description, projects, *node = row
    return Edge(source, Spoke(relation, bool(against)), _node(node), confidence, description, _names(projects))


def _link(keys: str, given: Binds, connection: sqlite3.Connection) -> list[Named]:
    found: list[Named] = []
    for (key,) in connection.execute(statements.KNOWN_KEYS, {"keys": keys}).fetchall():
        rows = connection.execute(statements.LINK, given | {"key": key, "limit": LINK_LIMIT})
        found.extend(Named(key, kind, _node(node), degree) for kind, degree, *node in rows)
    return found


def _spokes(given: Binds, connection: sqlite3.Connection) -> list[Spoke]:
    return [Spoke(name, bool(against)) for name, against in connection.execute(statements.SPOKES, given)]


def _expand(spokes: list[Spoke], given: Binds, connection: sqlite3.Connection) -> list[Edge]:
    given["along"] = _types([spoke.relation for spoke in spokes if not spoke.reversed], connection)
    given["against"] = _types([spoke.relation for spoke in spokes if spoke.reversed], connection)
    return [_edge(row) for row in connection.execute(statements.EXPAND, given)]


def _types(names: Sequence[str], connection: sqlite3.Connection) -> str:
    rows = (connection.execute(statements.TYPE, (name,)).fetchone() for name in names)
    return json.dumps([row[0] for row in rows if row])


def _paths(
    start: int, end: int, relations: list[str], hops: int, count: int, given: Binds, connection: sqlite3.Connection
) -> list[list[Edge]]:
    types = _types(relations, connection) if relations else None

    def adjacent(numbers: Sequence[int]) -> list[Step]:
        return connection.execute(statements.ADJACENT, given | _handles(numbers) | {"types": types}).fetchall()

    found = Search(adjacent, start, end).shortest(count, hops)
    return [[_edge(row) for row in connection.execute(statements.STEPS, given | _steps(path))] for path in found]


def _steps(path: list[Step]) -> Binds:
    return {"steps": json.dumps([(*step[:3], int(step[3])) for step in path])}


def _projects(handles: list[Handle], given: Binds, connection: sqlite3.Connection) -> dict[Handle, list[str]]:
    found: dict[Handle, list[str]] = {}
    for handle in handles:
        for statement in (statements.OWN_PROJECTS, statements.STATED_PROJECTS):
            rows = connection.execute(statement, given | {"handle": handle}).fetchall()
            found[handle] = [unsealed(project) for (project,) in rows]
            if rows:
                break
    return found


def _documents(handles: list[Handle], given: Binds, connection: sqlite3.Connection) -> list[Mention]:
    found: list[Mention] = []
    for handle in handles:
        keys = tuple(key for (key,) in connection.execute(statements.KEYS, (handle,)) if telling(key))
        if keys:
            phrases = " OR ".join('"' + key.replace('"', '""') + '"' for key in keys)
            rows = connection.execute(statements.DOCUMENTS, given | {"phrases": phrases})
            found.extend(Mention(handle, keys, Document.FromString(record)) for (record,) in rows)
    return found


def _stats(engine: str, given: Binds, connection: sqlite3.Connection) -> StatsResponse:
    projects = {unsealed(name): count for name, count in connection.execute(statements.COUNT_DOCUMENTS, given)}
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    page_size = connection.execute("PRAGMA page_size").fetchone()[0]
    return StatsResponse(
        documents=sum(projects.values()),
        documents_by_project=projects,
        entities=connection.execute(statements.COUNT_ENTITIES, given).fetchone()[0],
        relations=connection.execute(statements.COUNT_RELATIONS, given).fetchone()[0],
        engine=engine,
        size_bytes=float(pages * page_size),
    )
