"""The same search as it happens: the plan, each lane as it ends, and the answer Search would have given."""

from __future__ import annotations

import asyncio
from itertools import permutations

import grpc
import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.search_pb2 import SearchRequest, StreamSearchRequest, StreamSearchResponse

from tests.gateway.reading import UNHURRIED, at_work, refusal, row, settled, stable, tuned
from tests.support import NOBODY, FakeLane, Mesh, evidence, mesh

FOUND = {
    "vector": [evidence("same"), evidence("other")],
    "kg": [evidence("other"), evidence("same")],
    "keyword": [evidence("own"), evidence("same")],
}
ASKED = SearchRequest(query="why", mode=lane_pb2.MODE_RESEARCH)


async def events_of(running: Mesh, request: SearchRequest = ASKED) -> list[StreamSearchResponse]:
    return [event async for event in running.search.StreamSearch(StreamSearchRequest(search=request))]


async def test_events_come_in_order_and_the_waiting_list_shrinks() -> None:
    async with mesh({name: FakeLane(results) for name, results in FOUND.items()}, table=UNHURRIED) as running:
        events = await events_of(running)
    assert [event.WhichOneof("event") for event in events] == ["plan", "lane", "lane", "lane", "final"]
    lanes = [event.lane for event in events[1:-1]]
    assert sorted(ended.row.lane for ended in lanes) == sorted(FOUND)
    assert [len(ended.waiting) for ended in lanes] == [2, 1, 0]
    for number, ended in enumerate(lanes):
        assert set(ended.waiting) == {later.row.lane for later in lanes[number + 1 :]}
    assert events[-1].final.plan == events[0].plan


@pytest.mark.parametrize("fusion", [True, NOBODY], ids=["fused", "fusion lost"])
@pytest.mark.parametrize("order", [*permutations(FOUND)], ids="-".join)
async def test_the_final_answer_is_that_of_search_in_whatever_order_lanes_arrive(
    order: tuple[str, ...], fusion: bool | str
) -> None:
    lanes = {name: FakeLane(results) for name, results in FOUND.items()}
    async with mesh(lanes, fusion=fusion, table=UNHURRIED) as running:
        expected = await running.search.Search(ASKED)
        for lane in lanes.values():
            lane.gate = asyncio.Event()
        call = running.search.StreamSearch(StreamSearchRequest(search=ASKED))
        await call.read()
        for name in order:
            lanes[name].gate.set()
            event = await call.read()
            assert event.lane.row.lane == name
        last = await call.read()
    assert stable(last.final) == stable(expected)


async def test_the_order_so_far_has_what_has_arrived() -> None:
    gate = asyncio.Event()
    lanes = {"keyword": FakeLane([evidence("first")]), "kg": FakeLane([evidence("second")], gate=gate)}
    async with mesh(lanes, table=UNHURRIED) as running:
        call = running.search.StreamSearch(StreamSearchRequest(search=ASKED))
        plan, first = await call.read(), await call.read()
        gate.set()
        second, final = await call.read(), await call.read()
        assert await call.read() is grpc.aio.EOF
    assert plan.HasField("plan")
    assert [hit.document.id for hit in first.lane.provisional] == ["first"]
    assert {hit.document.id for hit in second.lane.provisional} == {"first", "second"}
    assert final.HasField("final")


async def test_a_lost_lane_is_an_event_and_costs_the_others_nothing() -> None:
    async with mesh({"keyword": FakeLane(FOUND["keyword"]), "kg": NOBODY}, table=UNHURRIED) as running:
        events = await events_of(running)
    ended = {event.lane.row.lane: event.lane.row.status for event in events if event.HasField("lane")}
    assert ended == {"keyword": lane_pb2.LANE_STATUS_OK, "kg": lane_pb2.LANE_STATUS_ERROR}
    assert row(events[-1].final, "keyword").kept == 2


@pytest.mark.parametrize(
    ("request_", "named"),
    [(SearchRequest(), "query"), (SearchRequest(query="why", max_results=101), "max_results")],
)
async def test_an_invalid_request_is_a_status_before_any_event(request_: SearchRequest, named: str) -> None:
    lane = FakeLane(FOUND["kg"])
    async with mesh({"kg": lane}, table=UNHURRIED) as running:
        refused = await refusal(running.search.StreamSearch(StreamSearchRequest(search=request_)).read())
        assert refused == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", named)
        assert not lane.asked
        assert (await events_of(running))[-1].HasField("final")


async def test_a_deadline_too_short_is_a_status() -> None:
    async with mesh({"kg": FakeLane(FOUND["kg"])}, table=tuned(UNHURRIED, kg={"minimum_ms": 60_000})) as running:
        refused = await refusal(running.search.StreamSearch(StreamSearchRequest(search=ASKED), timeout=30).read())
    assert refused[0] == grpc.StatusCode.DEADLINE_EXCEEDED


async def test_when_the_client_leaves_every_lane_handler_is_gone() -> None:
    lanes = {name: FakeLane(results, gate=asyncio.Event()) for name, results in FOUND.items()}
    async with mesh(lanes, table=UNHURRIED) as running, asyncio.timeout(20):
        before = at_work()
        call = running.search.StreamSearch(StreamSearchRequest(search=ASKED))
        await call.read()
        await asyncio.gather(*(lane.started.wait() for lane in lanes.values()))
        call.cancel()
        await settled(before)
        assert [lane.running for lane in lanes.values()] == [0, 0, 0]
