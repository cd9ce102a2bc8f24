"""What a caller may ask. The first thing wrong is refused by the name of its field."""

from __future__ import annotations

import re
from collections.abc import Set

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.unknown_fields import UnknownFieldSet
from lanemesh.v1 import fusion_pb2, lane_pb2, search_pb2
from lanemesh.v1.lane_pb2 import Constraints
from lanemesh.v1.search_pb2 import SearchRequest

from services.runtime import modes
from services.runtime.errors import InvalidRequest
from services.runtime.registry import Limits, Table

_SOURCE = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_CONTEXT_TITLE = 256
_CONTEXT_TEXT = 20_000
_PROJECT = 128

_CONSTRAINT_ENUMS = {
    "time_range": frozenset(lane_pb2.TimeRange.values()),
    "cost": frozenset(lane_pb2.Cost.values()),
    "depth": frozenset(lane_pb2.Depth.values()),
}
_REQUEST_ENUMS = {
    "scope_mode": frozenset(search_pb2.ScopeMode.values()),
    "marker_style": frozenset(fusion_pb2.MarkerStyle.values()),
    "resolution": frozenset(fusion_pb2.ResolutionStrategy.values()),
}


def check(request: SearchRequest, table: Table) -> None:
    """Raises InvalidRequest for the first field that cannot be served."""
    check_query(request.query, table.limits)
    modes.name_of(request.mode)
    if request.HasField("max_results") and not 1 <= request.max_results <= table.limits.max_results:
        raise InvalidRequest("max_results", f"must be 1 to {table.limits.max_results}, is {request.max_results}")
    for field, known in _REQUEST_ENUMS.items():
        _known_value(field, getattr(request, field), known)
    _refuse_unknown("request", request)
    if request.HasField("constraints"):
        check_constraints(request.constraints, table.limits)
    _lanes("include_lanes", request.include_lanes, table)
    _lanes("exclude_lanes", request.exclude_lanes, table)
    _projects(request, table.limits)
    _context(request, table.limits)


def check_query(query: str, limits: Limits) -> None:
    """A query has something in it, and not too much."""
    if not query.strip():
        raise InvalidRequest("query", "must not be empty")
    if len(query) > limits.query_characters:
        raise InvalidRequest("query", f"has {len(query)} characters, at most {limits.query_characters} are allowed")


def check_constraints(constraints: Constraints, limits: Limits) -> None:
    """Constraints are known, and so are their values."""
    _refuse_unknown("constraints", constraints)
    for field, known in _CONSTRAINT_ENUMS.items():
        _known_value(f"constraints.{field}", getattr(constraints, field), known)
    if len(constraints.sources) > limits.sources:
        raise InvalidRequest("constraints.sources", f"at most {limits.sources} are allowed")
    for source in constraints.sources:
        if not _SOURCE.fullmatch(source):
            raise InvalidRequest("constraints.sources", f"{source[:40]!r} is not a lower-case word")
    if constraints.language and not _LANGUAGE.fullmatch(constraints.language):
        raise InvalidRequest("constraints.language", f"{constraints.language[:40]!r} is not a BCP 47 tag")
    _period(constraints)


def _period(constraints: Constraints) -> None:
    for field in ("published_after", "published_before"):
        instant: Timestamp = getattr(constraints, field)
        if constraints.HasField(field) and not -62_135_596_800 <= instant.seconds <= 253_402_300_799:
            raise InvalidRequest(f"constraints.{field}", "must lie in the years 1 to 9999")
        if not 0 <= instant.nanos < 1_000_000_000:
            raise InvalidRequest(f"constraints.{field}", "must have nanos from 0 to 999 999 999")
    both = constraints.HasField("published_after") and constraints.HasField("published_before")
    if both and constraints.published_after.ToNanoseconds() >= constraints.published_before.ToNanoseconds():
        raise InvalidRequest("constraints.published_before", "must be later than published_after")


def _known_value(field: str, value: int, known: Set[int]) -> None:
    if value not in known:
        raise InvalidRequest(field, f"unknown value {value}")


def _refuse_unknown(field: str, message: Message) -> None:
    unknown = UnknownFieldSet(message)
    if len(unknown):
        raise InvalidRequest(field, f"unknown field number {unknown[0].field_number}")


def _lanes(field: str, names: object, table: Table) -> None:
    for name in names:  # type: ignore[attr-defined]
        if name not in table.lanes:
            raise InvalidRequest(field, f"unknown lane {name[:64]!r}; the table has {', '.join(table.lanes)}")
        if field == "include_lanes" and not table.lanes[name].enabled:
            raise InvalidRequest(field, f"lane {name!r} is not part of this mesh")


def _projects(request: SearchRequest, limits: Limits) -> None:
    if len(request.projects) > limits.projects:
        raise InvalidRequest("projects", f"at most {limits.projects} are allowed")
    if any(not 0 < len(project) <= _PROJECT for project in request.projects):
        raise InvalidRequest("projects", f"names must have 1 to {_PROJECT} characters")


def _context(request: SearchRequest, limits: Limits) -> None:
    if len(request.context) > limits.context_items:
        raise InvalidRequest("context", f"at most {limits.context_items} items are allowed")
    for number, item in enumerate(request.context):
        if not 0 < len(item.title) <= _CONTEXT_TITLE:
            raise InvalidRequest(f"context[{number}].title", f"must have 1 to {_CONTEXT_TITLE} characters")
        if not 0 < len(item.text) <= _CONTEXT_TEXT:
            raise InvalidRequest(f"context[{number}].text", f"must have 1 to {_CONTEXT_TEXT} characters")
