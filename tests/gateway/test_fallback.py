"""Who stands in when a lane fails or finds nothing, and when nobody does."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from lanemesh.v1 import lane_pb2, search_pb2
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse

from services.runtime.registry import load_table
from tests.gateway.reading import UNHURRIED, ids, row
from tests.support import NOBODY, FakeLane, evidence, mesh

TABLE = replace(UNHURRIED, routing=load_table().routing)
PATH = "How does OrderService connect to PaymentGateway?"


async def ask(lanes: dict[str, FakeLane | str], query: str = PATH, **fields: object) -> SearchResponse:
    async with mesh(lanes, table=TABLE) as running, asyncio.timeout(30):
        return await running.search.Search(SearchRequest(query=query, **fields))  # type: ignore[arg-type]


async def test_a_failed_lane_is_stood_in_for() -> None:
    reply = await ask({"kg": NOBODY, "vector": FakeLane([evidence("v")])})
    assert ids(reply) == ["v"]
    failed, stand_in = row(reply, "kg"), row(reply, "vector")
    assert (failed.status, failed.fallback_lane) == (lane_pb2.LANE_STATUS_ERROR, "vector")
    assert (stand_in.status, stand_in.fallback_for) == (lane_pb2.LANE_STATUS_OK, "kg")
    assert reply.degradation == search_pb2.DEGRADATION_L3
    assert reply.metrics.fallbacks == 1


async def test_fallbacks_follow_one_another() -> None:
    reply = await ask({"kg": NOBODY, "vector": NOBODY, "keyword": FakeLane([evidence("k")])})
    assert ids(reply) == ["k"]
    assert row(reply, "keyword").fallback_for == "vector"


async def test_a_lane_that_already_runs_is_not_asked_again() -> None:
    keyword = FakeLane([evidence("k")])
    reply = await ask({"vector": NOBODY, "keyword": keyword}, "why does it rain")
    assert len(keyword.asked) == 1
    assert row(reply, "vector").fallback_lane == ""


async def test_lanes_that_found_nothing_are_stood_in_for_too() -> None:
    reply = await ask({"kg": FakeLane(), "vector": FakeLane([evidence("v")])})
    assert ids(reply) == ["v"]
    assert row(reply, "kg").status == lane_pb2.LANE_STATUS_EMPTY
    assert row(reply, "vector").fallback_for == "kg"
    assert reply.degradation == search_pb2.DEGRADATION_L0


async def test_a_stand_in_gets_its_own_limits_and_the_callers_filters() -> None:
    vector = FakeLane([evidence("v")])
    await ask({"kg": NOBODY, "vector": vector}, projects=["orders"])
    (asked,) = vector.asked
    assert (asked.max_results, list(asked.filters.projects)) == (10, ["orders"])


async def test_an_excluded_lane_stands_in_for_nobody() -> None:
    vector = FakeLane([evidence("v")])
    reply = await ask({"kg": NOBODY, "vector": vector}, exclude_lanes=["vector"])
    assert not vector.asked
    assert reply.degradation == search_pb2.DEGRADATION_L4


async def test_lanes_named_by_the_client_are_not_stood_in_for() -> None:
    vector = FakeLane([evidence("v")])
    await ask({"kg": NOBODY, "vector": vector}, include_lanes=["kg"])
    assert not vector.asked
