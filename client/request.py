"""A search request from plain words, with errors that name the field as in the .proto."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from google.protobuf.descriptor import EnumDescriptor
from lanemesh.v1 import fusion_pb2, lane_pb2, search_pb2

from services.runtime.errors import InvalidRequest
from services.runtime.jsonform import short_name


class Constraining(TypedDict, total=False):
    """What the evidence must satisfy, in words."""

    time_range: str | None
    sources: Sequence[str]
    cost: str | None
    depth: str | None
    citations_required: bool
    language: str | None


class Options(Constraining, total=False):
    """Everything a search can be told besides the question, in words."""

    mode: str | None
    max_results: int | None
    lanes: Sequence[str]
    exclude: Sequence[str]
    projects: Sequence[str]
    marker_style: str | None
    scope_mode: str | None
    resolution: str | None
    skip_preflight: bool


# Where people write a value differently from the contract.
_SPOKEN = {"five_years": "5_years"}

_ENUMS: dict[str, tuple[str, EnumDescriptor]] = {
    "mode": ("mode", lane_pb2.Mode.DESCRIPTOR),
    "marker_style": ("marker_style", fusion_pb2.MarkerStyle.DESCRIPTOR),
    "scope_mode": ("scope_mode", search_pb2.ScopeMode.DESCRIPTOR),
    "resolution": ("resolution", fusion_pb2.ResolutionStrategy.DESCRIPTOR),
    "time_range": ("constraints.time_range", lane_pb2.TimeRange.DESCRIPTOR),
    "cost": ("constraints.cost", lane_pb2.Cost.DESCRIPTOR),
    "depth": ("constraints.depth", lane_pb2.Depth.DESCRIPTOR),
}
_RENAMED = {"lanes": "include_lanes", "exclude": "exclude_lanes"}


def search_request(query: str, **options: Unpack[Options]) -> search_pb2.SearchRequest:
    """The request for a question. Only words are checked here; numbers and sizes are the server's to refuse."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    constraining = {name: given.pop(name) for name in Constraining.__annotations__ if name in given}
    request = search_pb2.SearchRequest()
    _assign(request, "query", query)
    if any(constraining.values()):
        request.constraints.CopyFrom(constraints(**constraining))
    for name, value in given.items():
        _assign(request, name, value)
    return request


def refine_request(query: str, mode: str | None = None, **options: Unpack[Constraining]) -> search_pb2.RefineRequest:
    """The request for preflight's advice on a question."""
    search = search_request(query, mode=mode, **options)
    request = search_pb2.RefineRequest(query=search.query, mode=search.mode)
    if search.HasField("constraints"):
        request.constraints.CopyFrom(search.constraints)
    return request


def constraints(**options: Unpack[Constraining]) -> lane_pb2.Constraints:
    """The constraints message."""
    message = lane_pb2.Constraints()
    for name, value in options.items():
        if value is not None:
            _assign(message, name, value)
    return message


def enum_value(field: str, enum: EnumDescriptor, word: str) -> int:
    """The number behind a word, or InvalidRequest listing the words there are."""
    words = {short_name(enum, value.name).lower(): value.number for value in enum.values if value.number}
    spoken = {_SPOKEN.get(name, name): number for name, number in words.items()}
    number = (words | spoken).get(word.lower())
    if number is None:
        raise InvalidRequest(field, f"unknown value {word!r}; expected one of {', '.join(spoken)}")
    return number


def _assign(message: search_pb2.SearchRequest | lane_pb2.Constraints, name: str, value: Any) -> None:
    field = _RENAMED.get(name, name)
    if name in _ENUMS:
        value = enum_value(*_ENUMS[name], value)
    try:
        if isinstance(value, list | tuple):
            getattr(message, field).extend(value)
        else:
            setattr(message, field, value)
    except (ValueError, TypeError):
        # Outside the range of the contract's type, or text that is not Unicode.
        raise InvalidRequest(field, f"{value!r} cannot be sent") from None
