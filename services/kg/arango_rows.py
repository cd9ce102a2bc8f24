"""Records as rows of ArangoDB's collections, filters as bind variables, and results back."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import Entity, Relation
from lanemesh.v1.lane_pb2 import Filters

from services.kg.aql import ENTITIES
from services.kg.engine import Edge, Mention, Named, Node, Spoke
from services.kg.store import keys_of, text_of
from services.kg.vocabulary import telling

Row = dict[str, Any]


def key_of(*identity: str) -> str:
    """A document key: ArangoDB allows few characters in one, identities may hold any."""
    return hashlib.sha256("\x00".join(f"{len(part)}:{part}" for part in identity).encode()).hexdigest()


def handle_of(identity: str) -> str:
    """The `_id` of an entity."""
    return f"{ENTITIES}/{key_of(identity)}"


def sealed(names: Iterable[str]) -> list[str]:
    """Names as plain ASCII: the server compares strings by collation, to which some different names are equal."""
    return sorted({quote(name, safe="") for name in names})


def unsealed(names: Iterable[str]) -> tuple[str, ...]:
    """What was sealed."""
    return tuple(sorted(unquote(name) for name in names))


def entity_row(entity: Entity) -> Row:
    """An entity with the keys that find it."""
    confidence = entity.confidence if entity.HasField("confidence") else 1.0
    return _entity(entity.id, entity.name, entity.aliases) | {
        "type": entity.type,
        "description": entity.description,
        "confidence": confidence,
        "stub": False,
        "labels": sealed(entity.access_labels),
        "projects": sealed(entity.projects),
    }


def stub_row(identity: str) -> Row:
    """An entity that only relations name."""
    plain = {"type": "", "description": "", "confidence": 1.0, "stub": True, "labels": [], "projects": []}
    return _entity(identity, identity, ()) | plain


def _entity(identity: str, name: str, aliases: Iterable[str]) -> Row:
    keys = keys_of(name, aliases)
    # The longest word is the rarest, near enough: documents are looked up by it.
    phrases = [
        {"key": key, "probe": max(key.split(), key=len), "text": f" {key} "} for key in sorted(keys) if telling(key)
    ]
    own = {"keys": list(keys), "kinds": list(keys.values()), "phrases": phrases}
    return {"_key": key_of(identity), "id": identity, "name": name} | own


def relation_row(relation: Relation) -> Row:
    """An edge between two entities."""
    return {
        "_key": key_of(relation.head, relation.relation, relation.tail),
        "_from": handle_of(relation.head),
        "_to": handle_of(relation.tail),
        "relation": relation.relation,
        "description": relation.description,
        "confidence": relation.confidence if relation.HasField("confidence") else 1.0,
        "labels": sealed(relation.access_labels),
        "projects": sealed(relation.projects),
    }


def document_row(document: Document) -> Row:
    """A document whole, beside what filters and mentions are matched against."""
    text = text_of(document)
    published = document.published_at
    return {
        "_key": key_of(document.id),
        "id": document.id,
        "project": quote(document.project, safe=""),
        "source": quote(document.source, safe=""),
        "tags": sealed(document.tags),
        "language": f"{document.language.lower()}-" if document.language else "",
        "published": [published.seconds, published.nanos] if document.HasField("published_at") else None,
        "labels": sealed(document.access_labels),
        "words": sorted(set(text.split())),
        "text": f" {text} ",
        "record": base64.b64encode(document.SerializeToString(deterministic=True)).decode(),
    }


def document_of(record: str) -> Document:
    """The document as it was ingested."""
    return Document.FromString(base64.b64decode(record))


def binds(filters: Filters) -> Row:
    """The labels and projects that every statement applies."""
    return {"labels": sealed(filters.access_labels), "projects": sealed(filters.projects) or None}


def document_binds(filters: Filters) -> Row:
    """All filters, for statements that read documents."""
    after, before = filters.published_after, filters.published_before
    return binds(filters) | {
        "sources": sealed(filters.sources) or None,
        "tags": sealed(filters.tags) or None,
        "language": f"{filters.language.lower()}-" if filters.language else None,
        "after": [after.seconds, after.nanos] if filters.HasField("published_after") else None,
        "before": [before.seconds, before.nanos] if filters.HasField("published_before") else None,
    }


def node_of(row: Row) -> Node:
    """An entity as a statement returned it."""
    return Node(**(row | {"projects": unsealed(row["projects"])}))


def edge_of(row: Row) -> Edge:
    """A relation as a statement returned it."""
    spoke = Spoke(row["relation"], row["reversed"])
    projects = unsealed(row["projects"])
    return Edge(row["source"], spoke, node_of(row["node"]), row["confidence"], row["description"], projects)


def named_of(row: Row) -> Named:
    """An entity found by a key."""
    return Named(row["key"], row["kind"], node_of(row["node"]), row["degree"])


def mentions_of(row: Row) -> list[Mention]:
    """The documents that mention one entity."""
    return [Mention(row["handle"], tuple(row["keys"]), document_of(record)) for record in row["records"]]
