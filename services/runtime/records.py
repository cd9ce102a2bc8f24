"""What makes a record fit to be stored; equal at the gateway and in every index lane."""

from __future__ import annotations

import re

from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import Entity, RecordFailure, Relation, UpsertRequest

from services.runtime.errors import InvalidRequest

MAX_CONTENT = 1_048_576

# Most characters of each text field, as the contract states them.
_DOCUMENT_LENGTHS = {"title": 1_000, "summary": 10_000, "url": 2_048, "source": 64, "project": 128, "author": 512}
_ENTITY_LENGTHS = {"name": 512, "type": 128, "description": 10_000}
_RELATION_LENGTHS = {"head": 512, "relation": 128, "tail": 512, "description": 10_000}
_LIST_LENGTHS = {"tags": 64, "access_labels": 32, "attributes": 64, "aliases": 64, "projects": 1_000}
_LABEL_CHARACTERS = 64
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
# The range of google.protobuf.Timestamp: years 1 to 9999.
_SECONDS = (-62_135_596_800, 253_402_300_799)
_NANOS = 1_000_000_000


def check(record: Document | Entity | Relation) -> None:
    """Raises InvalidRequest naming the field, such as document.content, when the record cannot be stored."""
    if isinstance(record, Document):
        _document(record)
    elif isinstance(record, Entity):
        _entity(record)
    else:
        _relation(record)


def refusal(record: UpsertRequest) -> RecordFailure | None:
    """Why a record of a stream cannot be stored; None when it can."""
    kind = record.WhichOneof("record")
    try:
        if kind is None:
            raise InvalidRequest("record", "one of document, entity, relation is required")
        check(getattr(record, kind))
    except InvalidRequest as error:
        name = identity(getattr(record, kind)) if kind else ""
        return RecordFailure(
            sequence=record.sequence, id=name, field=error.field, reason=error.reason, message=error.description
        )
    return None


def identity(record: Document | Entity | Relation) -> str:
    """What names the record in a failure."""
    if isinstance(record, Relation):
        return f"{record.head}|{record.relation}|{record.tail}"
    return record.id


def _document(document: Document) -> None:
    _required("document.id", document.id, 512)
    _required("document.content", document.content, MAX_CONTENT)
    _lengths("document", document, _DOCUMENT_LENGTHS)
    _lists("document", document, ("tags", "access_labels", "attributes"))
    if document.language and not _LANGUAGE.fullmatch(document.language):
        raise InvalidRequest("document.language", f"{document.language[:40]!r} is not a BCP 47 tag")
    if document.HasField("published_at") and not _is_time(document.published_at):
        raise InvalidRequest("document.published_at", "must lie in the years 1 to 9999")


def _is_time(time: Timestamp) -> bool:
    return _SECONDS[0] <= time.seconds <= _SECONDS[1] and 0 <= time.nanos < _NANOS


def _entity(entity: Entity) -> None:
    _required("entity.id", entity.id, 512)
    _required("entity.name", entity.name, 512)
    _lengths("entity", entity, _ENTITY_LENGTHS)
    _lists("entity", entity, ("aliases", "projects", "access_labels"))
    _confidence("entity", entity)


def _relation(relation: Relation) -> None:
    for field, most in (("head", 512), ("relation", 128), ("tail", 512)):
        _required(f"relation.{field}", getattr(relation, field), most)
    _lengths("relation", relation, _RELATION_LENGTHS)
    _lists("relation", relation, ("projects", "access_labels"))
    _confidence("relation", relation)


def _required(field: str, value: str, most: int) -> None:
    if not value.strip():
        raise InvalidRequest(field, "must not be empty")
    if len(value) > most:
        raise InvalidRequest(field, f"has {len(value)} characters, at most {most} are allowed")


def _lengths(kind: str, record: Document | Entity | Relation, lengths: dict[str, int]) -> None:
    for field, most in lengths.items():
        if len(getattr(record, field)) > most:
            raise InvalidRequest(f"{kind}.{field}", f"has more than {most} characters")


def _lists(kind: str, record: Document | Entity | Relation, fields: tuple[str, ...]) -> None:
    for field in fields:
        values = getattr(record, field)
        if len(values) > _LIST_LENGTHS[field]:
            raise InvalidRequest(f"{kind}.{field}", f"has more than {_LIST_LENGTHS[field]} entries")
        if field in ("tags", "access_labels") and any(not 0 < len(value) <= _LABEL_CHARACTERS for value in values):
            raise InvalidRequest(f"{kind}.{field}", f"entries must have 1 to {_LABEL_CHARACTERS} characters")


def _confidence(kind: str, record: Entity | Relation) -> None:
    if record.HasField("confidence") and not 0.0 <= record.confidence <= 1.0:
        raise InvalidRequest(f"{kind}.confidence", "must be 0 to 1")
