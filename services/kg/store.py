"""Writes to the embedded graph, each inside the transaction of its caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, Entity, Relation, UpsertRequest

from services.kg.binds import sealed
from services.kg.engine import ALIAS, NAME, SHORTENED
from services.kg.words import keys_of_name, words_of

_ENTITY = """INSERT INTO entities (id, name, type, confidence, stub, labelled, description) VALUES (?, ?, ?, ?, 0, ?, ?)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, type = excluded.type, confidence = excluded.confidence,
    stub = 0, labelled = excluded.labelled, description = excluded.description RETURNING number"""
_STUB = """INSERT INTO entities (id, name, type, confidence, stub, labelled, description)
    VALUES (?, ?, '', 1.0, 1, 0, '') RETURNING number"""
_RELATION = """INSERT INTO relations (head, type, tail, confidence, labelled, placed, description)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (head, type, tail) DO UPDATE SET confidence = excluded.confidence,
    labelled = excluded.labelled, placed = excluded.placed, description = excluded.description RETURNING number"""
_DOCUMENT = """INSERT INTO documents (id, project, source, published_seconds, published_nanos, language_key, labelled,
    record, words) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET project = excluded.project,
    source = excluded.source, published_seconds = excluded.published_seconds,
    published_nanos = excluded.published_nanos, language_key = excluded.language_key, labelled = excluded.labelled,
    record = excluded.record, words = excluded.words RETURNING number"""
_NAME = "INSERT OR IGNORE INTO names (key, entity, kind) VALUES (?, ?, ?)"
_MARKS = {
    (table, mark): f"INSERT OR IGNORE INTO {table}_{mark}s VALUES (?, ?)"  # noqa: S608  constants only
    for table, mark in (
        ("entity", "label"),
        ("entity", "project"),
        ("relation", "label"),
        ("relation", "project"),
        ("document", "label"),
        ("document", "tag"),
    )
}
_RELATION_NUMBER = """SELECT relations.number, head, tail FROM relations, types WHERE types.number = type
    AND head = (SELECT number FROM entities WHERE id = ?) AND types.name = ?
    AND tail = (SELECT number FROM entities WHERE id = ?)"""
# A stub lives as long as a relation names it.
_UNNAMED = """DELETE FROM entities WHERE number = ? AND stub AND NOT EXISTS
    (SELECT 1 FROM relations WHERE head = entities.number UNION ALL
    SELECT 1 FROM relations WHERE tail = entities.number)"""
_NEIGHBOURS = "SELECT tail FROM relations WHERE head = ? UNION SELECT head FROM relations WHERE tail = ?"


class Writer:
    """Stores the records of one batch, remembering the numbers of what it has met."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._entities: dict[str, int] = {}
        self._types: dict[str, int] = {}

    def store(self, records: Sequence[UpsertRequest]) -> None:
        """The last record of an identity wins."""
        for entity in {record.entity.id: record.entity for record in records if record.HasField("entity")}.values():
            self._entity(entity)
        relations = (record.relation for record in records if record.HasField("relation"))
        for relation in {(each.head, each.relation, each.tail): each for each in relations}.values():
            self._relation(relation)
        documents = (record.document for record in records if record.HasField("document"))
        for document in {each.id: each for each in documents}.values():
            self._document(document)

    def _entity(self, entity: Entity) -> None:
        confidence = entity.confidence if entity.HasField("confidence") else 1.0
        labelled = bool(entity.access_labels)
        values = (entity.id, entity.name, entity.type, confidence, labelled, entity.description)
        number = self._number(_ENTITY, values)
        self._entities[entity.id] = number
        self._names(number, entity.name, entity.aliases)
        self._mark("entity", "label", number, entity.access_labels)
        self._mark("entity", "project", number, entity.projects)

    def _relation(self, relation: Relation) -> None:
        ends = self._end(relation.head), self._type(relation.relation), self._end(relation.tail)
        confidence = relation.confidence if relation.HasField("confidence") else 1.0
        marked = bool(relation.access_labels), bool(relation.projects)
        number = self._number(_RELATION, (*ends, confidence, *marked, relation.description))
        self._mark("relation", "label", number, relation.access_labels)
        self._mark("relation", "project", number, relation.projects)

    def _document(self, document: Document) -> None:
        dated = document.HasField("published_at")
        values = (
            document.id,
            sealed(document.project),
            sealed(document.source),
            document.published_at.seconds if dated else None,
            document.published_at.nanos if dated else None,
            f"{document.language.lower()}-" if document.language else "",
            bool(document.access_labels),
            document.SerializeToString(),
            text_of(document),
        )
        number = self._number(_DOCUMENT, values)
        self._mark("document", "label", number, document.access_labels)
        self._mark("document", "tag", number, document.tags)

    def _end(self, identity: str) -> int:
        known = self._entities.get(identity)
        if known is None:
            row = self._connection.execute("SELECT number FROM entities WHERE id = ?", (identity,)).fetchone()
            known = row[0] if row else self._stub(identity)
            self._entities[identity] = known
        return known

    def _stub(self, identity: str) -> int:
        number = self._number(_STUB, (identity, identity))
        self._names(number, identity, ())
        return number

    def _type(self, name: str) -> int:
        known = self._types.get(name)
        if known is None:
            self._connection.execute("INSERT OR IGNORE INTO types (name) VALUES (?)", (name,))
            row = self._connection.execute("SELECT number FROM types WHERE name = ?", (name,)).fetchone()
            self._types[name] = known = int(row[0])
        return known

    def _number(self, statement: str, values: tuple[object, ...]) -> int:
        # The statement is finished only when its rows are read to the end.
        return int(self._connection.execute(statement, values).fetchall()[0][0])

    def _names(self, number: int, name: str, aliases: Iterable[str]) -> None:
        rows = [(key, number, kind) for key, kind in keys_of(name, aliases).items()]
        self._connection.executemany(_NAME, rows)

    def _mark(self, table: str, mark: str, number: int, values: Iterable[str]) -> None:
        rows = [(number, sealed(value)) for value in values]
        if rows:
            self._connection.executemany(_MARKS[table, mark], rows)


def keys_of(name: str, aliases: Iterable[str]) -> dict[str, int]:
    """Every key of an entity with its kind; the better kind stands."""
    keys = {key: SHORTENED if shortened else NAME for key, shortened in keys_of_name(name).items()}
    for alias in aliases:
        for key, shortened in keys_of_name(alias).items():
            keys[key] = min(keys.get(key, SHORTENED), SHORTENED if shortened else ALIAS)
    return keys


def text_of(document: Document) -> str:
    """A document's title and content as keys see them."""
    return " ".join(word.text for text in (document.title, document.content) for word in words_of(text))


def delete(request: DeleteRequest, connection: sqlite3.Connection) -> int:
    """Deletes what is named; entities take their relations with them, and stubs that nothing names any more go too."""
    gone = sum(
        connection.execute("DELETE FROM documents WHERE id = ?", (identity,)).rowcount
        for identity in dict.fromkeys(request.document_ids)
    )
    gone += sum(_delete_relation(relation, connection) for relation in request.relations)
    return gone + sum(_delete_entity(identity, connection) for identity in request.entity_ids)


def _delete_relation(relation: Relation, connection: sqlite3.Connection) -> bool:
    row = connection.execute(_RELATION_NUMBER, (relation.head, relation.relation, relation.tail)).fetchone()
    if row is None:
        return False
    connection.execute("DELETE FROM relations WHERE number = ?", row[:1])
    connection.executemany(_UNNAMED, [row[1:2], row[2:3]])
    return True


def _delete_entity(identity: str, connection: sqlite3.Connection) -> bool:
    row = connection.execute("SELECT number FROM entities WHERE id = ?", (identity,)).fetchone()
    if row is None:
        return False
    neighbours = connection.execute(_NEIGHBOURS, row * 2).fetchall()
    connection.execute("DELETE FROM entities WHERE number = ?", row)
    connection.executemany(_UNNAMED, neighbours)
    return True
