"""JSON becomes a request, and what does not fit is refused by the path of its field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import Constraints, ContextItem
from lanemesh.v1.search_pb2 import SearchRequest

from services.runtime.errors import InvalidRequest
from services.runtime.jsonform import to_json
from services.runtime.jsonparse import from_json


def parsed(plain: Any) -> SearchRequest:
    request = SearchRequest()
    from_json(json.dumps(plain).encode(), request)
    return request


FULL = SearchRequest(
    query="why",
    mode=lane_pb2.MODE_RESEARCH,
    constraints=Constraints(
        cost=lane_pb2.COST_LOW, sources=["docs"], citations_required=True, published_after=Timestamp(seconds=86_400)
    ),
    max_results=5,
    include_lanes=["keyword", "local"],
    context=[ContextItem(title="t", text="x")],
)


def test_what_is_printed_is_read_again() -> None:
    assert parsed(to_json(FULL)) == FULL


@pytest.mark.parametrize("mode", ["research", "RESEARCH", "MODE_RESEARCH", 3])
def test_enum_values_are_known_by_short_name_full_name_and_number(mode: Any) -> None:
    assert parsed({"query": "why", "mode": mode}).mode == lane_pb2.MODE_RESEARCH


def test_null_is_unset_and_an_empty_object_is_set() -> None:
    request = parsed({"query": "why", "max_results": None, "constraints": {}})
    assert not request.HasField("max_results")
    assert request.HasField("constraints")


@pytest.mark.parametrize(
    ("plain", "field", "says"),
    [
        ([], "body", "object"),
        ({"querry": "x"}, "querry", "unknown"),
        ({"maxResults": 5}, "maxResults", "unknown"),
        ({"constraints": {"colour": "red"}}, "constraints.colour", "unknown"),
        ({"constraints": []}, "constraints", "object"),
        ({"constraints": {"language": 5}}, "constraints.language", "a string"),
        ({"constraints": {"published_after": "yesterday"}}, "constraints.published_after", "a time"),
        ({"context": [{"title": "t"}, {"title": 1}]}, "context[1].title", "a string"),
        ({"context": {}}, "context", "list"),
        ({"projects": [1]}, "projects", "each entry a string"),
        ({"mode": "psychic"}, "mode", "simple, technical"),
        ({"mode": {}}, "mode", "one of"),
        ({"max_results": "many"}, "max_results", "whole number"),
        ({"max_results": 1.5}, "max_results", "whole number"),
        ({"max_results": 10**12}, "max_results", "whole number"),
        ({"skip_preflight": "yes"}, "skip_preflight", "true or false"),
        ({"query": "\ud800"}, "query", "a string"),
    ],
)
def test_what_does_not_fit_is_named(plain: Any, field: str, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says) as refused:
        parsed(plain)
    assert refused.value.field == field


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[" * 100_000, b'{"max_results": ' + b"9" * 5000 + b"}"])
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidRequest) as refused:
        from_json(raw, SearchRequest())
    assert refused.value.field == "body"
