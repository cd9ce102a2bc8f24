"""A document as Meilisearch stores it, and back without loss."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format
from lanemesh.v1.evidence_pb2 import Document

PRIMARY_KEY = "id"
SEARCHED = ("title", "content", "summary")
# Everything that is not searched, as it was ingested.
WHOLE = "document"
RETRIEVED = (*SEARCHED, WHOLE)
# Meilisearch cuts the values it filters by at 468 bytes; names that become longer are told apart by their hash.
MOST_BYTES = 400
HASHED = "~~"

_ESCAPED = re.compile(rb"[^a-z0-9_.:/-]")
_ESCAPE = re.compile(rb"~([0-9a-f]{2})")


def key_of(identity: str) -> str:
    """The primary key: Meilisearch allows only letters, digits, dashes and underscores."""
    return hashlib.sha256(identity.encode()).hexdigest()


def exact(name: str) -> str:
    """The name in a form that Meilisearch compares exactly, made of [a-z0-9_.:/~-] only and never empty.

    It folds case, accents and surrounding space of what it filters by: without this, the label TEAM would open what
    is labelled team.
    """
    if not name:
        return "~"
    escaped = _ESCAPED.sub(lambda found: b"~%02x" % found[0][0], name.encode())
    return escaped.decode() if len(escaped) <= MOST_BYTES else HASHED + key_of(name)


def name_of(exactly: str) -> str:
    """The name behind its exact form, unless that is a hash."""
    plain = _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), exactly.encode())
    return "" if exactly == "~" else plain.decode()


def to_record(document: Document) -> dict[str, Any]:
    """What is searched, what is filtered by, and the rest of the document beside them."""
    rest = Document()
    rest.CopyFrom(document)
    for name in SEARCHED:
        rest.ClearField(name)  # type: ignore[arg-type]
    return {
        PRIMARY_KEY: key_of(document.id),
        **{name: getattr(document, name) for name in SEARCHED},
        **_filtered(document),
        WHOLE: json_format.MessageToDict(rest, preserving_proto_field_name=True),
    }


def to_document(record: Mapping[str, Any]) -> Document:
    """The document as it was ingested."""
    document = json_format.ParseDict(record[WHOLE], Document())
    for name in SEARCHED:
        setattr(document, name, record[name])
    return document


def _filtered(document: Document) -> dict[str, Any]:
    """Fields that are absent match no filter: an unknown date is in no range, and no label means public."""
    fields: dict[str, Any] = {"project": exact(document.project), "source": exact(document.source)}
    if document.language:
        parts = document.language.lower().split("-")
        fields["language"] = ["-".join(parts[:end]) for end in range(1, len(parts) + 1)]
    if document.HasField("published_at"):
        # Two whole numbers: one fraction would not hold the nanoseconds.
        fields["published_at"] = document.published_at.seconds
        fields["published_nanos"] = document.published_at.nanos
    if document.tags:
        fields["tags"] = [exact(tag) for tag in document.tags]
    if document.access_labels:
        fields["access_labels"] = [exact(label) for label in document.access_labels]
    return fields
