"""What is stored with every vector, and how a document comes back from it without loss.

Every chunk of a document carries what filters read; chunk 0 also carries the document. Chunks and document belong
together when their revisions are equal, so that a replacement under way is never shown half.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1.evidence_pb2 import Document

from services.vector.chunks import Chunk

COLLECTION = "sarvanom_vectors"
# Fields with an index, by the kind of their values.
KEYWORD_FIELDS = ("document", "project", "source", "languages", "tags", "access")
INTEGER_FIELDS = ("chunk", "published_at", "published_nanos")
# Fields of a chunk that a search returns.
CHUNK_FIELDS = ("document", "chunk", "start", "end", "revision")

# A document without labels carries this; no label is stored as it is, so none can pass for it.
PUBLIC = "public"

Payload: TypeAlias = dict[str, Any]

_NAMESPACE = uuid.UUID("6f1c1b52-0f0e-5a55-9a54-4f2f0c1d7f0e")
_TEXTS = ("title", "content", "summary", "url", "source", "project", "author", "language", "licence")
_REVISION_BYTES = 12


def label_key(label: str) -> str:
    """How an access label is stored."""
    return f"label:{label}"


def point_id(document_id: str, chunk: int) -> str:
    """The identity of a chunk's point."""
    return str(uuid.uuid5(uuid.uuid5(_NAMESPACE, document_id), str(chunk)))


def to_payloads(document: Document, chunks: Sequence[Chunk]) -> list[Payload]:
    """The payloads of all chunks, in their order."""
    filtered = _filtered(document) | {"revision": _revision(document)}
    payloads = [
        filtered | {"chunk": number, "start": chunk.start, "end": chunk.end} for number, chunk in enumerate(chunks)
    ]
    payloads[0] |= _whole(document)
    return payloads


def to_document(payload: Mapping[str, Any]) -> Document:
    """The document as it was ingested, from the payload of its chunk 0."""
    seconds = payload.get("published_at")
    # A message given as an argument is present even when it is zero: 1970 does not come back as unknown.
    published_at = None if seconds is None else Timestamp(seconds=seconds, nanos=payload["published_nanos"])
    return Document(
        id=payload["document"],
        published_at=published_at,
        tags=payload["tags"],
        access_labels=payload["access_labels"],
        attributes=payload["attributes"],
        **{name: payload[name] for name in _TEXTS},
    )


def _filtered(document: Document) -> Payload:
    fields: Payload = {
        "document": document.id,
        "project": document.project,
        "source": document.source,
        "languages": _languages(document.language),
        "tags": list(document.tags),
        "access": [label_key(label) for label in document.access_labels] or [PUBLIC],
    }
    if document.HasField("published_at"):
        fields["published_at"] = document.published_at.seconds
        fields["published_nanos"] = document.published_at.nanos
    return fields


def _whole(document: Document) -> Payload:
    fields: Payload = {name: getattr(document, name) for name in _TEXTS}
    return fields | {"access_labels": list(document.access_labels), "attributes": dict(document.attributes)}


def _languages(tag: str) -> list[str]:
    """The tag and all it is a kind of: en-gb and en for en-GB."""
    subtags = tag.lower().split("-") if tag else []
    return ["-".join(subtags[:length]) for length in range(1, len(subtags) + 1)]


def _revision(document: Document) -> str:
    serialised = document.SerializeToString(deterministic=True)
    return hashlib.sha256(serialised).hexdigest()[: 2 * _REVISION_BYTES]
