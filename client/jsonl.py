"""JSON lines to records: relations, entities and documents, told apart by their keys. BEIR's corpus.jsonl is one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import Entity, Relation
from lanemesh.v1.search_pb2 import IngestRequest

from client.records import Item, Origin, Problem, Record, fill
from services.runtime.errors import InvalidRequest

# A longer line cannot become a record: messages of the mesh end at 16 MiB.
LINE_BYTES = 16 * 1024 * 1024
_ALIASES = {"_id": "id", "text": "content", "metadata": "attributes"}


def read_lines(path: Path, shown: str, project: str | None, default_project: str, source: str | None) -> Iterator[Item]:
    """One item per line that is not blank. `project` and `source` overrule what a line says."""
    with path.open("rb") as file:
        for number, raw in enumerate(lines_of(file), 1):
            origin = Origin(shown, number)
            try:
                if raw.strip():
                    request = _record(_object(raw), project, default_project, source)
                    yield Record(origin, request, len(raw))
            except InvalidRequest as error:
                yield Problem(origin, error.field, error.description, len(raw))


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Lines, of which one that is too long is cut just beyond the limit."""
    while line := file.readline(LINE_BYTES + 1):
        rest = line
        while len(rest) > LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(LINE_BYTES + 1)
        yield line


def _object(raw: bytes) -> dict[str, Any]:
    if len(raw) > LINE_BYTES:
        raise InvalidRequest("line", f"is longer than {LINE_BYTES} bytes")
    try:
        value = json.loads(raw)
    except UnicodeDecodeError:
        raise InvalidRequest("line", "is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("line", f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidRequest("line", "expected a JSON object")
    return value


def _record(values: dict[str, Any], project: str | None, default_project: str, source: str | None) -> IngestRequest:
    if values.keys() >= {"head", "relation", "tail"}:
        return IngestRequest(relation=_scoped(fill(Relation(), values), project))
    if "name" in values and not values.keys() & {"content", "text"}:
        return IngestRequest(entity=_scoped(fill(Entity(), values), project))
    document = fill(Document(), _renamed(values))
    # Collections hold documents of which only the title is known.
    document.content = document.content if document.content.strip() else document.title
    document.project = project or document.project or default_project
    document.source = source or document.source
    return IngestRequest(document=document)


def _of_collection(values: dict[str, Any]) -> dict[str, Any]:
    """A line of a collection: its number may be an identity, and what a document has no field for is an attribute."""
    known = Document.DESCRIPTOR.fields_by_name.keys() | _ALIASES.keys()
    others = {key: value for key, value in values.items() if key not in known}
    fields = {key: value for key, value in values.items() if key in known}
    if isinstance(fields["_id"], int) and not isinstance(fields["_id"], bool):
        fields["_id"] = str(fields["_id"])
    if others and isinstance(fields.get("metadata") or {}, dict):
        fields["metadata"] = others | (fields.get("metadata") or {})
    return fields


def _scoped(record: Any, project: str | None) -> Any:
    """An entity or relation that names no project belongs to the one given."""
    if project and not record.projects:
        record.projects.append(project)
    return record


def _renamed(values: dict[str, Any]) -> dict[str, Any]:
    if "_id" in values:
        values = _of_collection(values)
    renamed: dict[str, Any] = {}
    for key, value in values.items():
        name = _ALIASES.get(key, key)
        if name in renamed:
            raise InvalidRequest(key, f"{name} is given twice")
        renamed[name] = value
    return renamed
