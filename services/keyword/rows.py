"""A document as a row of the table `documents`, and back without loss."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1.evidence_pb2 import Document

from services.text.unspaced import runs_of

# Column → SQL type. The columns that filters read come before the long texts, so that a filter reads one page.
COLUMNS = {
    "id": "TEXT NOT NULL UNIQUE",
    "project": "TEXT NOT NULL",
    "source": "TEXT NOT NULL",
    "published_seconds": "INTEGER",
    "published_nanos": "INTEGER",
    "language": "TEXT NOT NULL",
    "language_key": "TEXT NOT NULL",
    "access_labels": "TEXT NOT NULL",
    "tags": "TEXT NOT NULL",
    "url": "TEXT NOT NULL",
    "author": "TEXT NOT NULL",
    "licence": "TEXT NOT NULL",
    "attributes": "TEXT NOT NULL",
    "title": "TEXT NOT NULL",
    "summary": "TEXT NOT NULL",
    "content": "TEXT NOT NULL",
    "unspaced": "TEXT NOT NULL",
}
SELECTED = ", ".join(f"documents.{name}" for name in COLUMNS)


def to_row(document: Document) -> tuple[str | int | None, ...]:
    """The values of COLUMNS, in their order."""
    dated = document.HasField("published_at")
    return (
        document.id,
        document.project,
        document.source,
        document.published_at.seconds if dated else None,
        document.published_at.nanos if dated else None,
        document.language,
        f"{document.language.lower()}-" if document.language else "",
        _json(list(document.access_labels)),
        _json(list(document.tags)),
        document.url,
        document.author,
        document.licence,
        _json(dict(document.attributes)),
        document.title,
        document.summary,
        document.content,
        " ".join(
            " ".join(run) for text in (document.title, document.content, document.summary) for run in runs_of(text)
        ),
    )


def to_document(row: Sequence[Any]) -> Document:
    """The document as it was ingested."""
    values = dict(zip(COLUMNS, row, strict=True))
    seconds, nanos = values.pop("published_seconds"), values.pop("published_nanos")
    del values["language_key"], values["unspaced"]
    for name in ("access_labels", "tags", "attributes"):
        values[name] = json.loads(values[name])
    # A message given as an argument is present even when it is zero: 1970 does not come back as unknown.
    published_at = None if seconds is None else Timestamp(seconds=seconds, nanos=nanos)
    return Document(**values, published_at=published_at)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
