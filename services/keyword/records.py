"""Whether a record may be stored: the limits of evidence.proto, field by field."""

from __future__ import annotations

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import RecordFailure, UpsertRequest

# Most characters of each text field.
TEXT_LIMITS = {
    "id": 512,
    "title": 1_000,
    "content": 1_048_576,
    "summary": 10_000,
    "url": 2_048,
    "project": 128,
    "author": 512,
}
REQUIRED = ("id", "content")
# Most entries of each repeated field.
COUNT_LIMITS = {"tags": 64, "access_labels": 32, "attributes": 64}
TAG_CHARACTERS = 64
# 0001-01-01 to 9999-12-31, the range of google.protobuf.Timestamp.
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
NANOS = 1_000_000_000


def refusal(record: UpsertRequest) -> RecordFailure | None:
    """Why the record cannot be stored; None when it can, or is of a kind this lane ignores."""
    kind = record.WhichOneof("record")
    if kind is None:
        return _failure(record, "", "record", "one of document, entity, relation is required")
    fault = document_fault(record.document) if kind == "document" else None
    return _failure(record, record.document.id, f"document.{fault[0]}", fault[1]) if fault else None


def document_fault(document: Document) -> tuple[str, str] | None:
    """The first field beyond its limits and what was expected of it."""
    for name in REQUIRED:
        if not getattr(document, name):
            return name, "is required"
    for name, most in TEXT_LIMITS.items():
        length = len(getattr(document, name))
        if length > most:
            return name, f"expected at most {most} characters, got {length}"
    for name, most in COUNT_LIMITS.items():
        count = len(getattr(document, name))
        if count > most:
            return name, f"expected at most {most} entries, got {count}"
    if any(len(tag) > TAG_CHARACTERS for tag in document.tags):
        return "tags", f"expected at most {TAG_CHARACTERS} characters each"
    if document.HasField("published_at") and not _is_time(document):
        return "published_at", "expected a time of the years 1 to 9999"
    return None


def _is_time(document: Document) -> bool:
    time = document.published_at
    return FIRST_SECOND <= time.seconds <= LAST_SECOND and 0 <= time.nanos < NANOS


def _failure(record: UpsertRequest, identity: str, field: str, message: str) -> RecordFailure:
    return RecordFailure(
        sequence=record.sequence,
        id=identity,
        field=field,
        reason="INVALID_ARGUMENT",
        message=f"{field}: {message}",
    )
