"""What is refused, by the name of its field, at the edge and beyond it."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st
from lanemesh.v1 import fusion_pb2, lane_pb2, search_pb2
from lanemesh.v1.lane_pb2 import Constraints, ContextItem
from lanemesh.v1.search_pb2 import SearchRequest

from gateway import validate
from services.runtime.errors import InvalidRequest
from tests.support import TABLE

# Field 99, a varint of 1: no message of the contract has it.
UNKNOWN_FIELD = b"\x98\x06\x01"
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799


def refused(request: SearchRequest) -> str:
    with pytest.raises(InvalidRequest) as raised:
        validate.check(request, TABLE)
    return raised.value.field


def asking(**fields: Any) -> SearchRequest:
    return SearchRequest(query="why", **fields)


def constrained(**fields: Any) -> SearchRequest:
    return asking(constraints=Constraints(**fields))


def seconds(number: int) -> Timestamp:
    return Timestamp(seconds=number)


@pytest.mark.parametrize("query", ["?", "x" * 10_000, "日" * 10_000, " padded "])
def test_a_query_within_the_limits_passes(query: str) -> None:
    validate.check(SearchRequest(query=query), TABLE)


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "x" * 10_001, "日" * 10_001])
def test_an_empty_or_too_long_query_is_refused(query: str) -> None:
    assert refused(SearchRequest(query=query)) == "query"


@pytest.mark.parametrize("number", [1, 100])
def test_max_results_at_its_limits_passes(number: int) -> None:
    validate.check(asking(max_results=number), TABLE)


@pytest.mark.parametrize("number", [0, 101, -1, 2**31 - 1])
def test_max_results_beyond_its_limits_is_refused(number: int) -> None:
    assert refused(asking(max_results=number)) == "max_results"


@pytest.mark.parametrize(
    ("field", "enum"),
    [
        ("mode", lane_pb2.Mode),
        ("scope_mode", search_pb2.ScopeMode),
        ("marker_style", fusion_pb2.MarkerStyle),
        ("resolution", fusion_pb2.ResolutionStrategy),
    ],
)
def test_each_enumeration_takes_its_values_and_no_other(field: str, enum: Any) -> None:
    for value in enum.values():
        validate.check(asking(**{field: value}), TABLE)
    assert refused(asking(**{field: max(enum.values()) + 1})) == field
    assert refused(asking(**{field: -1})) == field


@pytest.mark.parametrize(
    ("field", "enum"), [("time_range", lane_pb2.TimeRange), ("cost", lane_pb2.Cost), ("depth", lane_pb2.Depth)]
)
def test_each_constraint_takes_its_values_and_no_other(field: str, enum: Any) -> None:
    for value in enum.values():
        validate.check(constrained(**{field: value}), TABLE)
    assert refused(constrained(**{field: max(enum.values()) + 1})) == f"constraints.{field}"


@given(st.integers(-(2**31), 2**31 - 1).filter(lambda value: value not in lane_pb2.Mode.values()))
def test_no_unknown_mode_passes(value: int) -> None:
    assert refused(asking(mode=value)) == "mode"


def test_an_unknown_field_on_the_wire_is_refused() -> None:
    assert refused(SearchRequest.FromString(asking().SerializeToString() + UNKNOWN_FIELD)) == "request"


def test_an_unknown_constraint_on_the_wire_is_refused() -> None:
    # Field 3 of the request, three bytes long, is a Constraints message.
    request = SearchRequest.FromString(asking().SerializeToString() + b"\x1a\x03" + UNKNOWN_FIELD)
    assert refused(request) == "constraints"


@pytest.mark.parametrize("source", ["academic", "news", "my-source_2", "a" * 32])
def test_a_source_is_a_lower_case_word(source: str) -> None:
    validate.check(constrained(sources=[source]), TABLE)


@pytest.mark.parametrize("source", ["", "News", "two words", "a" * 33, "1st", "news\n", 'x" OR 1'])
def test_any_other_source_is_refused(source: str) -> None:
    assert refused(constrained(sources=[source])) == "constraints.sources"


def test_eight_sources_are_the_most() -> None:
    words = [f"source{number}" for number in range(9)]
    validate.check(constrained(sources=words[:8]), TABLE)
    assert refused(constrained(sources=words)) == "constraints.sources"


@pytest.mark.parametrize("language", ["", "en", "pt-BR", "zh-Hant-TW"])
def test_a_language_is_a_tag(language: str) -> None:
    validate.check(constrained(language=language), TABLE)


@pytest.mark.parametrize("language", ["e", "english language", "en_GB", "en-", "12"])
def test_any_other_language_is_refused(language: str) -> None:
    assert refused(constrained(language=language)) == "constraints.language"


def test_a_period_ends_after_it_begins() -> None:
    validate.check(constrained(published_after=seconds(10), published_before=seconds(11)), TABLE)
    for end in (10, 9):
        late = constrained(published_after=seconds(10), published_before=seconds(end))
        assert refused(late) == "constraints.published_before"


@pytest.mark.parametrize("field", ["published_after", "published_before"])
def test_an_instant_lies_in_the_years_1_to_9999(field: str) -> None:
    for inside in (FIRST_SECOND, LAST_SECOND):
        validate.check(constrained(**{field: seconds(inside)}), TABLE)
    for outside in (FIRST_SECOND - 1, LAST_SECOND + 1):
        assert refused(constrained(**{field: seconds(outside)})) == f"constraints.{field}"


@pytest.mark.parametrize("nanos", [-1, 1_000_000_000])
def test_nanoseconds_stay_within_their_second(nanos: int) -> None:
    odd = constrained(published_after=Timestamp(seconds=1, nanos=nanos))
    assert refused(odd) == "constraints.published_after"


@pytest.mark.parametrize("field", ["include_lanes", "exclude_lanes"])
def test_an_unknown_lane_is_refused(field: str) -> None:
    assert refused(asking(**{field: ["keyword", "astrology"]})) == field


def test_a_lane_outside_the_mesh_can_be_excluded_and_not_included() -> None:
    table = TABLE.only({"keyword"})
    validate.check(asking(exclude_lanes=["vector"], include_lanes=["keyword"]), table)
    with pytest.raises(InvalidRequest, match="include_lanes"):
        validate.check(asking(include_lanes=["vector"]), table)


def test_projects_have_a_most_and_a_length() -> None:
    validate.check(asking(projects=["p" * 128] * 100), TABLE)
    assert refused(asking(projects=["p"] * 101)) == "projects"
    assert refused(asking(projects=["p" * 129])) == "projects"
    assert refused(asking(projects=["fine", ""])) == "projects"


def test_context_has_a_most() -> None:
    item = ContextItem(title="t" * 256, text="x" * 20_000)
    validate.check(asking(context=[item] * 32), TABLE)
    assert refused(asking(context=[item] * 33)) == "context"


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (ContextItem(title="", text="x"), "context[1].title"),
        (ContextItem(title="t" * 257, text="x"), "context[1].title"),
        (ContextItem(title="t", text=""), "context[1].text"),
        (ContextItem(title="t", text="x" * 20_001), "context[1].text"),
    ],
)
def test_a_context_item_is_refused_by_its_number(item: ContextItem, field: str) -> None:
    assert refused(asking(context=[ContextItem(title="t", text="x"), item])) == field


def test_the_first_thing_wrong_is_named() -> None:
    assert refused(SearchRequest(query="", max_results=0, include_lanes=["astrology"])) == "query"
