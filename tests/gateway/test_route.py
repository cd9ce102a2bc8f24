"""Which lanes a question is put to, why each, and who takes the place of a lane that is not to be had."""

from __future__ import annotations

import pytest
from lanemesh.v1.lane_pb2 import Constraints, ContextItem
from lanemesh.v1.search_pb2 import SearchRequest

from gateway import route
from gateway.classify import classify
from services.runtime.registry import Table, load_table

ALL = load_table().only(set(load_table().lanes))
CROSS = "What patterns do other teams use for customer tables?"


def chosen(query: str, mode: str = "simple", table: Table = ALL, **fields: object) -> set[str]:
    request = SearchRequest(query=query, **fields)  # type: ignore[arg-type]
    found = set(route.choose(request, classify(query), mode, table))
    return {name for name in found if table.lanes[name].enabled and name not in request.exclude_lanes} - {"preflight"}


@pytest.mark.parametrize(
    ("query", "lanes"),
    [
        ("What is CustomerService?", {"kg", "local"}),
        ("How does OrderService connect to PaymentGateway?", {"kg"}),
        ("Find code similar to this error handling pattern", {"vector", "keyword"}),
        ("How do teams handle retries?", {"kg", "vector", "keyword", "local"}),
        (CROSS, {"kg", "vector", "keyword"}),
        ("What does our README say about OrderService today?", {"local"}),
        ("What calls the service that uses Customer?", {"kg", "vector", "keyword"}),
        ("why does it rain", {"vector", "keyword"}),
        ("why does it rain in Bergen", {"vector", "keyword", "kg"}),
        ("why did it rain yesterday", {"vector", "keyword", "news"}),
        ("why did the price of rain coats rise", {"vector", "keyword", "markets"}),
    ],
)
def test_the_type_chooses_and_cues_add(query: str, lanes: set[str]) -> None:
    assert chosen(query) == lanes


def test_research_takes_the_web_along() -> None:
    assert chosen("why does it rain", "research") == {"vector", "keyword", "web"}
    assert chosen("What does our README say?", "research") == {"local"}


@pytest.mark.parametrize(
    ("sources", "mode", "lanes"),
    [
        (["news"], "simple", {"news", "web"}),
        (["academic"], "simple", {"vector", "kg", "keyword"}),
        (["academic"], "research", {"vector", "kg", "keyword", "web"}),
        (["financial"], "simple", {"markets", "web"}),
        (["docs"], "simple", {"vector", "keyword"}),
        (["docs", "news"], "simple", {"news", "web"}),
    ],
)
def test_sources_choose_lanes(sources: list[str], mode: str, lanes: set[str]) -> None:
    assert chosen("why does it rain", mode, constraints=Constraints(sources=sources)) == lanes


def test_context_sent_along_is_searched() -> None:
    assert "local" in chosen("why does it rain", context=[ContextItem(title="notes", text="rain")])


def test_named_lanes_are_the_lanes() -> None:
    assert chosen(CROSS, include_lanes=["web", "local"]) == {"web", "local"}


def test_a_fallback_takes_the_place_of_a_lane_outside_the_mesh() -> None:
    table = ALL.only({"keyword", "local"})
    request = SearchRequest(query="How does OrderService connect to PaymentGateway?")
    found = route.choose(request, classify(request.query), "simple", table)
    assert found["keyword"] == "stands in for kg, which is not to be had"
    assert "local" not in found


def test_a_fallback_takes_the_place_of_an_excluded_lane() -> None:
    assert chosen("How does OrderService connect to PaymentGateway?", exclude_lanes=["kg"]) == {"vector"}


def test_somebody_answers_even_in_a_mesh_without_the_right_lanes() -> None:
    assert chosen("why does it rain", table=ALL.only({"local"})) == {"local"}


def test_every_lane_has_a_reason() -> None:
    request = SearchRequest(query="latest news about OrderService")
    found = route.choose(request, classify(request.query), "research", ALL)
    assert found == {
        "vector": "answers ordinary questions",
        "keyword": "joins vector",
        "news": "the question asks for news",
        "kg": "the question names OrderService",
        "web": "part of research mode",
        "preflight": "advises beside every question",
    }
