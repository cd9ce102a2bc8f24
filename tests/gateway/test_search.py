"""A search through the front door: refusals, deadlines, cancellation, degradation, and the same answer every time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import Constraints, Preflight, RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2 import (
    DEGRADATION_L0,
    DEGRADATION_L1,
    DEGRADATION_L2,
    DEGRADATION_L4,
    RefineRequest,
    SearchRequest,
    SearchResponse,
    StreamSearchRequest,
)

from services.runtime import deadline, telemetry
from services.runtime.errors import Unavailable
from tests.gateway.hostile import RETRIEVE, answering, never
from tests.gateway.reading import UNHURRIED, ids, refusal, row, stable, tuned
from tests.support import NOBODY, TABLE, FakeLane, evidence, mesh

WHY = SearchRequest(query="why")
INVALID = grpc.StatusCode.INVALID_ARGUMENT
# Field 99 with the value 1, in the request itself and inside its constraints.
UNKNOWN_FIELD = b"\x98\x06\x01"
UNKNOWN_CONSTRAINT = b"\x1a\x03" + UNKNOWN_FIELD


@dataclass
class Observed(FakeLane):
    """Notes the deadline and the trace it works under, and when it is done."""

    left_ms: float = 0.0
    left_at_end_ms: float = 0.0
    trace_id: str = ""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        ambient, trace = deadline.current(), telemetry.current()
        assert ambient is not None
        assert trace is not None
        self.left_ms, self.trace_id = ambient.remaining() * 1000, trace.trace_id
        try:
            await super().retrieve(request, reply)
        finally:
            self.left_at_end_ms = ambient.remaining() * 1000
            self.ended.set()


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (SearchRequest(query=""), "query"),
        (SearchRequest(query="x" * 10_001), "query"),
        (SearchRequest(query="why", max_results=0), "max_results"),
        (SearchRequest(query="why", max_results=101), "max_results"),
        (SearchRequest(query="why", mode=9), "mode"),  # type: ignore[arg-type]
        (SearchRequest(query="why", constraints=Constraints(cost=9)), "constraints.cost"),  # type: ignore[arg-type]
        (SearchRequest.FromString(WHY.SerializeToString() + UNKNOWN_FIELD), "request"),
        (SearchRequest.FromString(WHY.SerializeToString() + UNKNOWN_CONSTRAINT), "constraints"),
    ],
)
async def test_what_cannot_be_served_is_refused_by_its_field_and_the_mesh_goes_on(
    request_: SearchRequest, named: str
) -> None:
    lane = FakeLane([evidence("a")])
    async with mesh({"keyword": lane}, table=UNHURRIED) as running:
        assert await refusal(running.search.Search(request_)) == (INVALID, "INVALID_ARGUMENT", named)
        assert not lane.asked
        assert ids(await running.search.Search(WHY)) == ["a"]


async def test_bytes_that_are_no_request_are_refused_and_the_mesh_goes_on() -> None:
    async with mesh({"keyword": FakeLane([evidence("a")])}, table=UNHURRIED) as running:
        raw = running.channel.unary_unary("/lanemesh.v1.SearchService/Search")
        with pytest.raises(grpc.aio.AioRpcError):
            await raw(b"\xff\xff\xff")
        assert ids(await running.search.Search(WHY)) == ["a"]


async def test_an_answer_has_a_row_for_every_configured_lane_in_table_order() -> None:
    lanes = {"keyword": FakeLane([evidence("a", "Kelp grows in cold water.")]), "local": FakeLane()}
    async with mesh(lanes, table=UNHURRIED) as running:
        reply = await running.search.Search(SearchRequest(query="where kelp grows", exclude_lanes=["local"]))
    assert [entry.lane for entry in reply.ledger] == list(TABLE.lanes)
    assert row(reply, "local").reason == "EXCLUDED"
    skipped = [entry for entry in reply.ledger if entry.lane != "keyword"]
    assert {entry.status for entry in skipped} == {lane_pb2.LANE_STATUS_SKIPPED}
    assert not any(entry.budget_ms or entry.elapsed_ms for entry in skipped)
    assert reply.answer
    assert (reply.metrics.lanes_asked, reply.metrics.lanes_answered) == (1, 1)


async def test_max_results_cuts_the_reply() -> None:
    lane = FakeLane([evidence(f"d{number}") for number in range(8)])
    async with mesh({"keyword": lane}, table=UNHURRIED) as running:
        reply = await running.search.Search(SearchRequest(query="why", max_results=3))
    assert ids(reply) == ["d0", "d1", "d2"]
    assert (row(reply, "keyword").returned, row(reply, "keyword").kept) == (8, 3)


async def test_time_left_shrinks_from_client_to_lane() -> None:
    lanes = {name: Observed([evidence(name)]) for name in ("vector", "keyword")}
    request = SearchRequest(query="why", constraints=Constraints(cost=lane_pb2.COST_HIGH))
    async with mesh(lanes) as running:
        reply = await running.search.Search(request, timeout=2.4)
    assert reply.plan.deadline_ms <= 2400
    # Twice the cell of the table would be 2000 ms; what the client leaves beyond the reserve is less.
    assert row(reply, "vector").budget_ms <= reply.plan.deadline_ms - reply.plan.reserve_ms <= 1900
    assert row(reply, "keyword").budget_ms == 1000
    for name, lane in lanes.items():
        assert 0 < lane.left_ms <= row(reply, name).budget_ms < reply.plan.deadline_ms


async def test_a_deadline_too_short_for_anybody_is_refused_at_once() -> None:
    lane = FakeLane([evidence("a")])
    async with mesh({"keyword": lane}, table=tuned(UNHURRIED, keyword={"minimum_ms": 60_000})) as running:
        refused = await refusal(running.search.Search(WHY, timeout=30))
    assert refused == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", "")
    assert not lane.asked


async def test_under_a_short_deadline_only_lanes_that_fit_run() -> None:
    slow, quick = FakeLane([evidence("s")]), FakeLane([evidence("q")])
    async with mesh(
        {"vector": slow, "keyword": quick}, table=tuned(UNHURRIED, vector={"minimum_ms": 60_000})
    ) as running:
        reply = await running.search.Search(WHY, timeout=30)
    assert ids(reply) == ["q"]
    assert not slow.asked
    entry = row(reply, "vector")
    assert (entry.status, entry.reason) == (lane_pb2.LANE_STATUS_BYPASSED, "BUDGET_TOO_SMALL")
    assert reply.degradation == DEGRADATION_L1


async def test_when_the_client_cancels_every_lane_handler_is_gone() -> None:
    lanes = {name: Observed([evidence(name)], gate=asyncio.Event()) for name in ("web", "vector", "kg", "keyword")}
    async with mesh(lanes, table=UNHURRIED) as running, asyncio.timeout(20):
        call = running.search.Search(WHY)
        await asyncio.gather(*(lane.started.wait() for lane in lanes.values()))
        call.cancel()
        await asyncio.gather(*(lane.ended.wait() for lane in lanes.values()))
        assert [lane.running for lane in lanes.values()] == [0] * len(lanes)
        # They ended because of the cancellation, not because their time was up.
        assert all(lane.left_at_end_ms > 0 for lane in lanes.values())
        lanes["kg"].gate = None
        reply = await running.search.Search(SearchRequest(query="why", include_lanes=["kg"]))
    assert ids(reply) == ["kg"]


@pytest.mark.parametrize("first", ["vector", "kg", "keyword"])
async def test_the_answer_is_the_same_whichever_lane_is_last(first: str) -> None:
    shared = [evidence("same", "Why not is the question."), evidence("other", "The reason why is the reason.")]
    found = {"vector": shared, "kg": shared[::-1], "keyword": [evidence("own"), shared[0]]}
    asked = SearchRequest(query="why is the reason", mode=lane_pb2.MODE_RESEARCH)
    async with mesh({name: Observed(results) for name, results in found.items()}, table=UNHURRIED) as running:
        expected = stable(await running.search.Search(asked))
    lanes = {name: Observed(results, gate=asyncio.Event()) for name, results in found.items()}
    async with mesh(lanes, table=UNHURRIED) as running:
        call = running.search.Search(asked)
        for lane in sorted(lanes.values(), key=lambda lane: lane is not lanes[first]):
            await lane.started.wait()
            lane.gate.set()
            await lane.ended.wait()
        assert stable(await call) == expected


async def test_the_trace_of_the_caller_is_in_the_reply_and_reaches_the_lanes() -> None:
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    lane = Observed([evidence("a")])
    async with mesh({"keyword": lane}, table=UNHURRIED) as running:
        header = (("traceparent", f"00-{trace_id}-00f067aa0ba902b7-01"),)
        assert (await running.search.Search(WHY, metadata=header)).trace_id == trace_id
        assert lane.trace_id == trace_id
        fresh = (await running.search.Search(WHY)).trace_id
    assert len(fresh) == 32
    assert fresh != trace_id


async def degradation_of(**lanes: FakeLane | str) -> SearchResponse:
    async with mesh(lanes, table=UNHURRIED) as running:
        return await running.search.Search(WHY)


async def test_l0_when_every_planned_lane_answered_even_if_empty() -> None:
    reply = await degradation_of(keyword=FakeLane([evidence("a")]), kg=FakeLane())
    assert reply.degradation == DEGRADATION_L0


async def test_l1_when_one_lane_is_lost() -> None:
    reply = await degradation_of(keyword=FakeLane([evidence("a")]), kg=NOBODY)
    assert reply.degradation == DEGRADATION_L1


async def test_l2_when_several_lanes_are_lost() -> None:
    lost = FakeLane(error=Unavailable("away"))
    reply = await degradation_of(keyword=FakeLane([evidence("a")]), kg=NOBODY, vector=lost)
    assert reply.degradation == DEGRADATION_L2


async def test_all_lanes_down_is_a_clean_answer_that_says_so() -> None:
    reply = await degradation_of(keyword=NOBODY, kg=NOBODY, vector=NOBODY)
    assert reply.degradation == DEGRADATION_L4
    assert not reply.answer
    assert not reply.results
    assert len(reply.missing) == 1
    rows = [row(reply, name) for name in ("keyword", "kg", "vector")]
    assert {(entry.status, entry.reason) for entry in rows} == {(lane_pb2.LANE_STATUS_ERROR, "UNAVAILABLE")}
    assert (reply.metrics.lanes_asked, reply.metrics.lanes_answered) == (3, 0)


async def test_all_lanes_hanging_is_answered_before_the_clients_deadline() -> None:
    table = tuned(UNHURRIED, keyword={"budget_ms": 150}, kg={"budget_ms": 150})
    async with answering(RETRIEVE, never) as hung, mesh({"keyword": hung, "kg": hung}, table=table) as running:
        reply = await running.search.Search(WHY, timeout=50)
    assert reply.degradation == DEGRADATION_L4
    assert reply.metrics.timeouts == 2


async def test_many_searches_at_once_keep_their_answers_apart() -> None:
    @dataclass
    class Echo(FakeLane):
        async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
            reply.evidence.append(evidence(request.query))

    async with mesh({"keyword": Echo(), "kg": Echo()}, table=UNHURRIED) as running:
        queries = [f"query {number}" for number in range(32)]
        replies = await asyncio.gather(*(running.search.Search(SearchRequest(query=query)) for query in queries))
    assert [ids(reply) for reply in replies] == [[query] for query in queries]


@dataclass
class Advising(FakeLane):
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        await super().retrieve(request, reply)
        reply.status = lane_pb2.LANE_STATUS_OK
        reply.preflight.CopyFrom(Preflight(should_trigger=True))
        self.ended.set()


async def test_refining_asks_preflight_alone() -> None:
    lanes: dict[str, Any] = {"preflight": Advising(), "keyword": FakeLane([evidence("a")])}
    async with mesh(lanes, table=UNHURRIED) as running:
        reply = await running.search.Refine(RefineRequest(query="why"))
        assert await refusal(running.search.Refine(RefineRequest(query=""))) == (INVALID, "INVALID_ARGUMENT", "query")
    assert reply.preflight.should_trigger
    assert not lanes["keyword"].asked


@pytest.mark.parametrize(
    ("lanes", "code"),
    [
        ({"keyword": FakeLane()}, grpc.StatusCode.UNIMPLEMENTED),
        ({"preflight": NOBODY}, grpc.StatusCode.INTERNAL),
    ],
)
async def test_refining_without_preflight_is_refused(lanes: dict[str, Any], code: grpc.StatusCode) -> None:
    async with mesh(lanes, table=UNHURRIED) as running:
        assert (await refusal(running.search.Refine(RefineRequest(query="why"))))[0] == code


async def test_what_preflight_advises_beside_the_lanes_is_in_the_reply() -> None:
    advising = Advising(ended=asyncio.Event())
    lanes = {"preflight": advising, "keyword": FakeLane([evidence("a")], gate=advising.ended)}
    async with mesh(lanes, table=UNHURRIED) as running:
        reply = await running.search.Search(WHY)
    assert reply.preflight.should_trigger
    assert ids(reply) == ["a"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_preflight_delays_no_answer(streamed: bool) -> None:
    lanes = {"preflight": FakeLane(gate=asyncio.Event()), "keyword": FakeLane([evidence("a")])}
    async with mesh(lanes, table=UNHURRIED) as running, asyncio.timeout(10):
        if streamed:
            events = [event async for event in running.search.StreamSearch(StreamSearchRequest(search=WHY))]
            assert [event.lane.row.lane for event in events if event.HasField("lane")] == ["keyword", "preflight"]
            reply = events[-1].final
        else:
            reply = await running.search.Search(WHY)
    assert ids(reply) == ["a"]
    assert (row(reply, "preflight").status, row(reply, "preflight").reason) == (
        lane_pb2.LANE_STATUS_BYPASSED,
        "BUDGET_EXCEEDED",
    )
    assert reply.degradation == DEGRADATION_L0
