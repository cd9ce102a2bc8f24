"""What a caller sent as the bound values of SQL statements."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from lanemesh.v1.lane_pb2 import Filters

Binds = dict[str, Any]


def sealed(text: str) -> str:
    """The text in a form that survives SQLite's JSON, which ends a string at a NUL."""
    return text.replace("\\", "\\\\").replace("\x00", "\\0")


def unsealed(text: str) -> str:
    """What was sealed."""
    parts = text.split("\\\\")
    return "\\".join(part.replace("\\0", "\x00") for part in parts)


def listed(values: Iterable[str]) -> str:
    """A list of strings as one bound value."""
    return json.dumps([sealed(value) for value in values], ensure_ascii=False)


def of(filters: Filters) -> Binds:
    """The labels and projects that every statement applies."""
    return {"labels": listed(filters.access_labels), "projects": _optional(filters.projects)}


def of_documents(filters: Filters) -> Binds:
    """All filters, for statements that read documents."""
    after, before = filters.published_after, filters.published_before
    has_after, has_before = filters.HasField("published_after"), filters.HasField("published_before")
    return of(filters) | {
        "sources": _optional(filters.sources),
        "tags": _optional(filters.tags),
        # The dash ends the prefix at a subtag: en matches en and en-GB, not eng.
        "language": f"{filters.language.lower()}-" if filters.language else None,
        "after": after.seconds if has_after else None,
        "after_nanos": after.nanos if has_after else None,
        "before": before.seconds if has_before else None,
        "before_nanos": before.nanos if has_before else None,
    }


def _optional(values: Iterable[str]) -> str | None:
    given = list(values)
    return listed(given) if given else None
