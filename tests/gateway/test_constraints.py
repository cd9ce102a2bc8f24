"""What constraints mean to a lane: time, sources, language, and the smallest of several limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import Constraints, Filters
from lanemesh.v1.search_pb2 import SearchRequest

from gateway import constraints
from tests.support import TABLE

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def ago(days: float) -> Timestamp:
    instant = Timestamp()
    instant.FromDatetime(NOW - timedelta(days=days))
    return instant


def filters(lane: str = "keyword", projects: tuple[str, ...] = (), **fields: Any) -> Filters:
    request = SearchRequest(query="why", projects=projects, constraints=Constraints(**fields))
    return constraints.filters(request, TABLE.lanes[lane], TABLE, NOW)


def bind(mode: str = "simple", **fields: Any) -> constraints.Bound:
    return constraints.bind(Constraints(**fields), mode, TABLE)


@pytest.mark.parametrize(
    ("lane", "time_range", "days"),
    [
        ("keyword", lane_pb2.TIME_RANGE_RECENT, 730),
        ("web", lane_pb2.TIME_RANGE_RECENT, 730),
        ("news", lane_pb2.TIME_RANGE_RECENT, 7),
        ("keyword", lane_pb2.TIME_RANGE_FIVE_YEARS, 1826),
        ("news", lane_pb2.TIME_RANGE_FIVE_YEARS, 1826),
    ],
)
def test_a_time_range_reaches_back_so_many_days(lane: str, time_range: Any, days: int) -> None:
    bound = filters(lane, time_range=time_range)
    assert bound.published_after == ago(days)
    assert not bound.HasField("published_before")


@pytest.mark.parametrize("lane", ["keyword", "web", "news"])
def test_all_time_has_no_bound(lane: str) -> None:
    assert filters(lane, time_range=lane_pb2.TIME_RANGE_ALL_TIME) == Filters()


@pytest.mark.parametrize(("asked", "effective"), [(10, 10), (900, 730)])
def test_an_explicit_bound_narrows_the_range_and_never_widens_it(asked: int, effective: int) -> None:
    bound = filters(time_range=lane_pb2.TIME_RANGE_RECENT, published_after=ago(asked))
    assert bound.published_after == ago(effective)


def test_explicit_bounds_alone_stand_as_given() -> None:
    bound = filters(published_after=ago(9), published_before=ago(2))
    assert (bound.published_after, bound.published_before) == (ago(9), ago(2))


def test_projects_sources_and_language_reach_the_lane() -> None:
    bound = filters(projects=("orders", "billing"), sources=["academic", "docs"], language="pt-BR")
    assert bound == Filters(projects=["orders", "billing"], sources=["academic", "docs"], language="pt-BR")


def test_a_source_that_only_chooses_lanes_filters_no_document() -> None:
    assert list(filters(sources=["financial", "docs"]).sources) == ["docs"]


def test_without_constraints_there_are_no_filters() -> None:
    assert filters() == Filters()


@pytest.mark.parametrize(
    ("cost", "results", "factor", "tokens"),
    [
        (lane_pb2.COST_UNSPECIFIED, 20, 1.0, 2000),
        (lane_pb2.COST_LOW, 10, 0.5, 1000),
        (lane_pb2.COST_MEDIUM, 20, 1.0, 2000),
        (lane_pb2.COST_HIGH, 50, 2.0, 5000),
    ],
)
def test_cost_sets_results_time_and_tokens(cost: Any, results: int, factor: float, tokens: int) -> None:
    row = bind(cost=cost).cost
    assert (row.results, row.time_factor, row.answer_tokens) == (results, factor, tokens)


@pytest.mark.parametrize(
    ("depth", "results", "search_depth"),
    [(lane_pb2.DEPTH_SIMPLE, 10, 1), (lane_pb2.DEPTH_TECHNICAL, 20, 2), (lane_pb2.DEPTH_RESEARCH, 50, 3)],
)
def test_depth_sets_results_and_search_depth(depth: Any, results: int, search_depth: int) -> None:
    row = bind("simple", depth=depth).depth
    assert (row.results, row.search_depth) == (results, search_depth)


@pytest.mark.parametrize(
    ("mode", "search_depth"), [("simple", 1), ("technical", 2), ("research", 3), ("multimedia", 3)]
)
def test_a_mode_searches_as_deep_as_its_name_says(mode: str, search_depth: int) -> None:
    assert bind(mode).depth.search_depth == search_depth


@pytest.mark.parametrize(
    ("lane", "mode", "fields", "most"),
    [
        ("vector", "simple", {}, 10),
        ("vector", "technical", {}, 15),
        ("vector", "research", {}, 25),
        ("keyword", "multimedia", {}, 25),
        ("kg", "simple", {}, 20),
        ("kg", "simple", {"depth": lane_pb2.DEPTH_SIMPLE}, 10),
        ("kg", "simple", {"cost": lane_pb2.COST_LOW}, 10),
        ("vector", "simple", {"depth": lane_pb2.DEPTH_RESEARCH}, 25),
        ("vector", "research", {"cost": lane_pb2.COST_MEDIUM}, 20),
        ("vector", "research", {"cost": lane_pb2.COST_LOW, "depth": lane_pb2.DEPTH_RESEARCH}, 10),
        ("vector", "research", {"cost": lane_pb2.COST_HIGH, "depth": lane_pb2.DEPTH_TECHNICAL}, 15),
        ("preflight", "research", {"cost": lane_pb2.COST_HIGH}, 3),
    ],
)
def test_the_smallest_limit_wins(lane: str, mode: str, fields: dict[str, Any], most: int) -> None:
    assert bind(mode, **fields).max_results(TABLE.lanes[lane]) == most


def test_each_constraint_says_what_it_changed() -> None:
    asked = Constraints(
        time_range=lane_pb2.TIME_RANGE_RECENT,
        sources=["docs"],
        cost=lane_pb2.COST_LOW,
        depth=lane_pb2.DEPTH_TECHNICAL,
        citations_required=True,
        language="en",
    )
    said = constraints.effects(asked, constraints.bind(asked, "simple", TABLE))
    named = [sentence.replace(":", " ").split()[0] for sentence in said]
    assert named == ["time_range", "sources", "cost", "depth", "citations_required", "language"]


@pytest.mark.parametrize("field", ["published_after", "published_before"])
def test_an_explicit_bound_says_what_it_changed(field: str) -> None:
    asked = Constraints(**{field: ago(3)})
    (said,) = constraints.effects(asked, constraints.bind(asked, "simple", TABLE))
    assert said.startswith(field)


def test_no_constraint_says_nothing() -> None:
    assert constraints.effects(Constraints(), bind()) == []
