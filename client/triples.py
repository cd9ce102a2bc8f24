"""Triple files to records: one relation per line, `head|relation|tail`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lanemesh.v1.index_pb2 import Relation
from lanemesh.v1.search_pb2 import IngestRequest

from client.jsonl import LINE_BYTES, lines_of
from client.records import Item, Origin, Problem, Record, fill
from services.runtime.errors import InvalidRequest

BAR = "|"
FIELDS = ("head", "relation", "tail")
# What a file must look like from its start to be taken for triples.
SAMPLE_BYTES = 64 * 1024
# Share of its lines that may be spoilt: they are told one by one, where a document of triples would be found by nobody.
SPOILT_SHARE = 0.1


def looks_like(path: Path) -> bool:
    """Whether nearly every line at the start of the file that is not blank has exactly two bars."""
    try:
        with path.open("rb") as file:
            sample = file.read(SAMPLE_BYTES)
            whole = not file.read(1)
    except OSError:
        # A file that cannot be read is reported when it is read.
        return False
    lines = sample.split(b"\n")
    # The last line of a longer file is cut off somewhere.
    told = [line for line in (lines if whole else lines[:-1]) if line.strip()]
    spoilt = sum(line.count(BAR.encode()) != len(FIELDS) - 1 for line in told)
    return bool(told) and spoilt <= SPOILT_SHARE * len(told)


def read_triples(path: Path, shown: str, project: str | None) -> Iterator[Item]:
    """One item per line that is not blank."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(lines_of(file), 1):
                if raw.strip():
                    yield _item(Origin(shown, number), raw, project)
    except OSError as error:
        yield Problem(Origin(shown), "file", error.strerror or "cannot be read", 0)


def _item(origin: Origin, raw: bytes, project: str | None) -> Item:
    try:
        relation = relation_of(_text(raw))
    except InvalidRequest as error:
        return Problem(origin, error.field, error.description, len(raw))
    if project:
        relation.projects.append(project)
    return Record(origin, IngestRequest(relation=relation), len(raw))


def relation_of(triple: str) -> Relation:
    """The relation that `head|relation|tail` names; InvalidRequest says what is wrong with it."""
    parts = [part.strip() for part in triple.split(BAR)]
    if len(parts) != len(FIELDS):
        raise InvalidRequest("line", f"expected head{BAR}relation{BAR}tail, found {len(parts)} parts")
    for field, part in zip(FIELDS, parts, strict=True):
        if not part:
            raise InvalidRequest(field, "must not be empty")
    return fill(Relation(), dict(zip(FIELDS, parts, strict=True)))


def _text(raw: bytes) -> str:
    if len(raw) > LINE_BYTES:
        raise InvalidRequest("line", f"is longer than {LINE_BYTES} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest("line", "is not UTF-8") from None
