"""The tables of the embedded graph, their version, and how the file is prepared."""

# ruff: noqa: S608 - statements are made of constants only.

from __future__ import annotations

from services.sqlite.schema import Schema

VERSION = 1

_UNMENTION = "INSERT INTO mentions(mentions, rowid, words) VALUES ('delete', old.number, old.words);"
_MENTION = "INSERT INTO mentions(rowid, words) VALUES (new.number, new.words);"


def _marks(table: str, mark: str) -> str:
    return f"CREATE TABLE {table}_{mark}s (owner INTEGER, {mark} TEXT, PRIMARY KEY (owner, {mark})) WITHOUT ROWID"


def _unmark(table: str, *marks: str) -> str:
    return " ".join(f"DELETE FROM {table}_{mark}s WHERE owner = old.number;" for mark in marks)


# A stub is an entity that only relations name: it exists for whoever may see one of them. `labelled` and `placed` say
# whether there are labels and projects to look up. Names are found by key; `words` is a document's text as keys see it.
STATEMENTS = (
    "CREATE TABLE types (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE entities (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
        type TEXT NOT NULL, confidence REAL NOT NULL, stub INTEGER NOT NULL, labelled INTEGER NOT NULL,
        description TEXT NOT NULL)""",
    """CREATE TABLE names (key TEXT, entity INTEGER, kind INTEGER NOT NULL, PRIMARY KEY (key, entity)) WITHOUT ROWID""",
    "CREATE INDEX names_of ON names (entity)",
    """CREATE TABLE relations (number INTEGER PRIMARY KEY, head INTEGER NOT NULL, type INTEGER NOT NULL,
        tail INTEGER NOT NULL, confidence REAL NOT NULL, labelled INTEGER NOT NULL, placed INTEGER NOT NULL,
        description TEXT NOT NULL, UNIQUE (head, type, tail))""",
    "CREATE INDEX relations_to ON relations (tail, type, head)",
    """CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL,
        source TEXT NOT NULL, published_seconds INTEGER, published_nanos INTEGER, language_key TEXT NOT NULL,
        labelled INTEGER NOT NULL, record BLOB NOT NULL, words TEXT NOT NULL)""",
    *(_marks(table, "label") for table in ("entity", "relation", "document")),
    *(_marks(table, "project") for table in ("entity", "relation")),
    _marks("document", "tag"),
    """CREATE VIRTUAL TABLE mentions USING fts5(words, content='documents', content_rowid='number',
        tokenize='unicode61 remove_diacritics 0')""",
    f"CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN {_MENTION} END",
    f"""CREATE TRIGGER document_gone AFTER DELETE ON documents
        BEGIN {_UNMENTION} {_unmark("document", "label", "tag")} END""",
    f"""CREATE TRIGGER document_changed AFTER UPDATE ON documents
        BEGIN {_UNMENTION} {_MENTION} {_unmark("document", "label", "tag")} END""",
    f"""CREATE TRIGGER entity_gone AFTER DELETE ON entities BEGIN DELETE FROM names WHERE entity = old.number;
        DELETE FROM relations WHERE head = old.number OR tail = old.number;
        {_unmark("entity", "label", "project")} END""",
    f"""CREATE TRIGGER entity_changed AFTER UPDATE ON entities
        BEGIN DELETE FROM names WHERE entity = old.number; {_unmark("entity", "label", "project")} END""",
    f"CREATE TRIGGER relation_gone AFTER DELETE ON relations BEGIN {_unmark('relation', 'label', 'project')} END",
    f"CREATE TRIGGER relation_changed AFTER UPDATE ON relations BEGIN {_unmark('relation', 'label', 'project')} END",
)


SCHEMA = Schema("graph", VERSION, STATEMENTS)
