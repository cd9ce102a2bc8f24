"""A query's trace through the front door: its tree, and that it says what the ledger says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import grpc
import pytest
from lanemesh.v1 import lane_pb2, search_pb2
from lanemesh.v1.lane_pb2 import CacheUse, LaneStatus, ProviderAttempt, RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse, StreamSearchRequest
from prometheus_client import REGISTRY

from gateway.observe import Allowance
from services.runtime import spans
from services.runtime.errors import Unavailable
from services.runtime.registry import Table, load_table
from services.runtime.trace import NAME_ONLY
from tests.gateway.clocks import HandClock
from tests.gateway.reading import UNHURRIED, at_work, row, settled, tuned
from tests.gateway.test_guard import CALLS, NARROW, PATIENT
from tests.gateway.test_hedge import Scripted, forever, replicated
from tests.gateway.test_scope import CROSS, STOCK, Documents, Graph
from tests.gateway.test_scope import TABLE as SCOPED
from tests.otlp import (
    DO_NOT_SAMPLE,
    SAMPLE,
    SPAN_ID,
    TRACE_ID,
    Collector,
    collected,
    events,
    failed,
    said,
)
from tests.support import NOBODY, FakeLane, Mesh, evidence, mesh

SECRET = "what did the hunter2 contract cost"
WHY = SearchRequest(query=SECRET)
ATTEMPTS = (
    ProviderAttempt(
        provider="brave",
        tier=lane_pb2.PROVIDER_TIER_KEYED,
        outcome=lane_pb2.ATTEMPT_OUTCOME_TIMEOUT,
        elapsed_ms=0.2,
        started_ms=-5.0,
    ),
    ProviderAttempt(
        provider="wikipedia",
        tier=lane_pb2.PROVIDER_TIER_KEYLESS,
        outcome=lane_pb2.ATTEMPT_OUTCOME_OK,
        elapsed_ms=0.1,
        started_ms=0.05,
        results=1,
    ),
)


@dataclass
class Asking(FakeLane):
    """A lane that tells of providers and a cache."""

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        await super().retrieve(request, reply)
        reply.attempts.extend(ATTEMPTS)
        reply.cache = lane_pb2.CACHE_USE_MISS
        reply.engine = "providers"
        await asyncio.sleep(0.002)


def healthy() -> dict[str, FakeLane | str]:
    return {"web": Asking([evidence("w")]), "keyword": FakeLane([evidence("k")])}


async def asked(
    lanes: Mapping[str, FakeLane | str],
    metadata: tuple[tuple[str, str], ...] = SAMPLE,
    request: SearchRequest = WHY,
    table: Table = UNHURRIED,
    **settings: Any,
) -> tuple[SearchResponse, Collector]:
    """The reply, and the spans that one query left."""
    async with collected(**settings) as collector, mesh(lanes, table=table) as running, asyncio.timeout(30):
        reply = await running.search.Search(request, metadata=metadata)
    return reply, collector


def agrees(reply: SearchResponse, collector: Collector) -> None:
    """Every lane asked has exactly one span that says what its row of the ledger says."""
    for entry in reply.ledger:
        mine = [said(span) for span in collector.named(spans.lane_name(entry.lane))]
        settled = [each for each in mine if each["ledger_row"]]
        if entry.status in (lane_pb2.LANE_STATUS_SKIPPED, lane_pb2.LANE_STATUS_BYPASSED) and not entry.budget_ms:
            assert mine == []
            continue
        (found,) = settled
        assert found["lane"] == entry.lane
        assert (found["budget_granted_ms"], found["budget_spent_ms"]) == (entry.budget_ms, entry.elapsed_ms)
        assert found["status"] == LaneStatus.Name(entry.status).removeprefix("LANE_STATUS_")
        assert (found.get("reason", ""), found["results"]) == (entry.reason, entry.returned)
        assert (found.get("fallback_for", ""), found["hedged"]) == (entry.fallback_for, entry.hedged)
        assert found.get("scope", []) == list(entry.scope)
        assert found.get("cache", "") == (CacheUse.Name(entry.cache).removeprefix("CACHE_USE_") if entry.cache else "")


def sound(collector: Collector, root: str = "SearchService/Search") -> None:
    """One root, no orphan, nothing ends before it begins, only attributes that are written down."""
    known = {span.span_id for span in collector.spans}
    tops = [span for span in collector.spans if span.parent_span_id not in known]
    assert [span.name for span in tops] == [root]
    assert len(known) == len(collector.spans)
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in collector.spans)
    own = {spans.ERROR_TYPE, spans.STATUS_CODE}
    for span in collector.spans:
        assert said(span).keys() <= spans.ATTRIBUTES | own, span.name
        assert all(told.keys() <= spans.ATTRIBUTES for _, told in events(span))


PARTS = {
    ("SearchService/Search", "plan"),
    ("SearchService/Search", "lane web"),
    ("SearchService/Search", "lane keyword"),
    ("lane web", "LaneService/Retrieve"),
    ("lane keyword", "LaneService/Retrieve"),
    ("LaneService/Retrieve", "provider brave"),
    ("LaneService/Retrieve", "provider wikipedia"),
    ("SearchService/Search", "fuse"),
    ("fuse", "FusionService/Fuse"),
}
STAGES = {("FusionService/Fuse", stage) for stage in ("identity", "rank", "synthesise", "cite", "disagree")}


async def test_a_sampled_query_is_one_tree_that_agrees_with_its_ledger() -> None:
    reply, collector = await asked(healthy())
    sound(collector)
    agrees(reply, collector)
    assert collector.edges() == {(SPAN_ID, "SearchService/Search"), *PARTS, *STAGES}
    root = said(collector.one("SearchService/Search"))
    assert root["sampled_by"] == "head"
    assert (root["mode"], root["degradation"]) == ("simple", "L0")
    assert (root["elapsed_ms"], root["deadline_ms"]) == (reply.elapsed_ms, reply.plan.deadline_ms)
    assert (root["lanes_asked"], root["lanes_answered"], root["results"]) == (2, 2, 2)
    assert root["rpc.response.status_code"] == "OK"
    assert said(collector.one("plan"))["lanes"] == ["web", "keyword"]
    assert said(collector.one("FusionService/Fuse"))["received"] == 2
    assert reply.trace_id == TRACE_ID


async def test_attempts_in_the_trace_are_those_of_the_ledger() -> None:
    _, collector = await asked(healthy())
    brave, wikipedia = collector.one("provider brave"), collector.one("provider wikipedia")
    assert said(brave) == {"lane": "web", "provider": "brave", "tier": "KEYED", "outcome": "TIMEOUT", "results": 0}
    assert said(wikipedia) == {
        "lane": "web",
        "provider": "wikipedia",
        "tier": "KEYLESS",
        "outcome": "OK",
        "results": 1,
    }
    assert (failed(brave), failed(wikipedia)) == (True, False)
    (lane,) = (span for span in collector.named(spans.RETRIEVE) if said(span)["lane"] == "web")
    # The first began before this question came to it: it stands where the question joined.
    assert brave.start_time_unix_nano == lane.start_time_unix_nano
    assert wikipedia.start_time_unix_nano - lane.start_time_unix_nano == 50_000


async def test_a_healthy_query_that_is_not_sampled_leaves_nothing() -> None:
    reply, collector = await asked(healthy(), DO_NOT_SAMPLE)
    assert reply.degradation == search_pb2.DEGRADATION_L0
    assert collector.spans == []


def kept(why: str) -> float:
    return REGISTRY.get_sample_value("lanemesh_traces_kept_total", {"why": why}) or 0.0


async def test_a_degraded_query_is_kept_although_nobody_sampled_it() -> None:
    before = kept("degraded")
    lanes = healthy() | {"kg": FakeLane(error=Unavailable("away"))}
    reply, collector = await asked(lanes, DO_NOT_SAMPLE)
    assert reply.degradation == search_pb2.DEGRADATION_L1
    sound(collector)
    agrees(reply, collector)
    assert collector.edges() == {("", "SearchService/Search"), ("SearchService/Search", "lane kg"), *PARTS}
    root = collector.one("SearchService/Search")
    assert (said(root)["sampled_by"], said(root)["kept_because"]) == ("tail", "degraded")
    # Whoever called has a span of its own, which was not recorded.
    assert (root.trace_id.hex(), root.links[0].span_id.hex()) == (TRACE_ID, SPAN_ID)
    assert all(said(span)["reported"] for span in (*collector.named(spans.RETRIEVE), collector.one(spans.FUSION)))
    assert failed(collector.one("lane kg"))
    assert kept("degraded") == before + 1


async def test_parts_that_are_only_reported_lie_inside_the_calls_that_brought_them() -> None:
    _, collector = await asked(healthy() | {"kg": NOBODY}, DO_NOT_SAMPLE)
    by_id = {span.span_id: span for span in collector.spans}
    for span in collector.spans:
        if (parent := by_id.get(span.parent_span_id)) is not None:
            assert parent.start_time_unix_nano <= span.start_time_unix_nano, span.name
            assert span.end_time_unix_nano <= parent.end_time_unix_nano, span.name


async def test_a_trace_that_has_only_a_name_begins_at_the_gateway() -> None:
    metadata = (*DO_NOT_SAMPLE, ("tracestate", NAME_ONLY))
    reply, collector = await asked({"kg": NOBODY, "keyword": FakeLane([evidence("k")])}, metadata)
    root = collector.one("SearchService/Search")
    assert (reply.trace_id, root.trace_id.hex(), list(root.links)) == (TRACE_ID, TRACE_ID, [])


async def test_tail_decisions_are_limited() -> None:
    before = kept("limited")
    _, collector = await asked({"kg": NOBODY}, DO_NOT_SAMPLE, tail_per_second=0.0)
    assert collector.spans == []
    assert kept("limited") == before + 1


def test_an_allowance_is_so_many_a_second_and_as_many_at_once() -> None:
    clock = HandClock()
    allowance = Allowance(2.0, clock)
    assert [allowance.take() for _ in range(3)] == [True, True, False]
    clock.pass_(0.5)
    assert [allowance.take() for _ in range(2)] == [True, False]
    clock.pass_(3_600)
    assert [allowance.take() for _ in range(3)] == [True, True, False]


async def test_a_query_that_failed_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept("failed")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("gateway.service.in_table_order", broken)
    async with collected() as collector, mesh(healthy(), table=UNHURRIED) as running:
        with pytest.raises(grpc.aio.AioRpcError):
            await running.search.Search(WHY, metadata=DO_NOT_SAMPLE)
    sound(collector)
    root = collector.one("SearchService/Search")
    assert (said(root)["error.type"], said(root)["kept_because"]) == ("RuntimeError", "failed")
    assert failed(root)
    assert kept("failed") == before + 1
    assert {"lane web", "lane keyword"} <= set(collector.names())


@pytest.mark.parametrize("request_", [SearchRequest(query=""), SearchRequest(query="q", mode=99)])  # type: ignore[arg-type]
async def test_a_mistake_of_the_caller_is_not_kept(request_: SearchRequest) -> None:
    async with collected() as collector, mesh(healthy(), table=UNHURRIED) as running:
        with pytest.raises(grpc.aio.AioRpcError):
            await running.search.Search(request_, metadata=DO_NOT_SAMPLE)
        assert collector.spans == []
        with pytest.raises(grpc.aio.AioRpcError):
            await running.search.Search(request_, metadata=SAMPLE)
    sound(collector)
    assert said(collector.one("SearchService/Search"))["error.type"] == "InvalidRequest"


async def test_a_query_out_of_time_is_kept() -> None:
    table = tuned(UNHURRIED, web={"minimum_ms": 10_000.0}, keyword={"minimum_ms": 10_000.0})
    async with collected() as collector, mesh(healthy(), table=table) as running:
        with pytest.raises(grpc.aio.AioRpcError):
            await running.search.Search(WHY, metadata=DO_NOT_SAMPLE, timeout=9.0)
    root = said(collector.one("SearchService/Search"))
    assert (root["kept_because"], root["error.type"]) == ("late", "DeadlinePassed")


@pytest.mark.parametrize(("metadata", "left"), [(SAMPLE, True), (DO_NOT_SAMPLE, False)])
async def test_a_query_whose_caller_left_says_what_was_given_up(
    metadata: tuple[tuple[str, str], ...], left: bool
) -> None:
    lane = FakeLane(gate=asyncio.Event())
    async with collected() as collector, mesh({"keyword": lane}, table=UNHURRIED) as running, asyncio.timeout(30):
        before = at_work()
        call = running.search.Search(WHY, metadata=metadata)
        await lane.started.wait()
        call.cancel()
        await settled(before)
    assert bool(collector.spans) is left
    if left:
        sound(collector)
        assert said(collector.one("lane keyword"))["status"] == "CANCELLED"
        assert said(collector.one("SearchService/Search"))["rpc.response.status_code"] == "CANCELLED"


@pytest.mark.parametrize("metadata", [SAMPLE, DO_NOT_SAMPLE])
async def test_a_lane_that_hangs_is_a_span_of_its_whole_budget(metadata: tuple[tuple[str, str], ...]) -> None:
    table = tuned(UNHURRIED, kg={"budget_ms": 60})
    lanes = healthy() | {"kg": FakeLane([evidence("g")], gate=asyncio.Event())}
    reply, collector = await asked(lanes, metadata, table=table)
    sound(collector)
    agrees(reply, collector)
    assert said(collector.one("lane kg"))["reason"] == "DEADLINE_EXCEEDED"


class Cut(FakeLane):
    """A lane that found a part."""

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        await super().retrieve(request, reply)
        reply.status, reply.reason = lane_pb2.LANE_STATUS_PARTIAL, "PROVIDERS_FAILED"


@pytest.mark.parametrize("metadata", [SAMPLE, DO_NOT_SAMPLE])
async def test_part_of_an_answer_is_an_event(metadata: tuple[tuple[str, str], ...]) -> None:
    reply, collector = await asked({"kg": Cut([evidence("g")])}, metadata)
    sound(collector)
    agrees(reply, collector)
    assert events(collector.one("lane kg")) == [("partial", {"reason": "PROVIDERS_FAILED"})]


@pytest.mark.parametrize("metadata", [SAMPLE, DO_NOT_SAMPLE])
async def test_a_fallback_says_for_whom_it_stands(metadata: tuple[tuple[str, str], ...]) -> None:
    table = replace(UNHURRIED, routing=load_table().routing)
    lanes = {"kg": FakeLane(error=Unavailable("away")), "vector": FakeLane([evidence("v")])}
    routed = SearchRequest(query="How does OrderService connect to PaymentGateway?")
    reply, collector = await asked(lanes, metadata, routed, table)
    sound(collector)
    agrees(reply, collector)
    assert said(collector.one("lane vector"))["fallback_for"] == "kg"


@pytest.mark.parametrize("metadata", [SAMPLE, DO_NOT_SAMPLE])
async def test_a_breaker_is_an_event(metadata: tuple[tuple[str, str], ...]) -> None:
    lanes = {"vector": FakeLane(error=ValueError("broken")), "keyword": FakeLane([evidence("a")])}
    async with mesh(lanes, table=PATIENT) as running:
        for _ in range(CALLS):
            await running.search.Search(WHY, metadata=DO_NOT_SAMPLE)
        async with collected() as collector:
            reply = await running.search.Search(WHY, metadata=metadata)
    sound(collector)
    agrees(reply, collector)
    assert events(collector.one("lane vector")) == [("breaker", {"state": "OPEN"})]
    assert said(collector.one("lane vector"))["budget_granted_ms"] == 0


async def test_a_hedged_call_is_one_span_with_two_servers_below() -> None:
    one, two = Scripted(name="one"), Scripted(name="two")
    async with replicated(one, two) as running:
        one.stall = forever
        before = at_work()
        async with collected() as collector:
            while not one.asked:
                reply = await running.search.Search(WHY, metadata=SAMPLE)
            await settled(before)
    hedged = [span for span in collector.named("lane vector") if said(span)["hedged"]]
    assert hedged
    for span in hedged:
        assert [name for name, _ in events(span)] == ["hedge"]
        assert sum(other.parent_span_id == span.span_id for other in collector.named(spans.RETRIEVE)) == 2
    assert row(reply, "vector").hedged


async def test_a_scoped_search_and_the_one_it_made_needless_are_two_spans() -> None:
    documents = Documents(by_project=STOCK, hangs_unlimited=True)
    reply, collector = await asked({"kg": Graph(), "vector": documents}, SAMPLE, SearchRequest(query=CROSS), SCOPED)
    sound(collector)
    agrees(reply, collector)
    whole, scoped = map(said, collector.named("lane vector"))
    assert (whole["status"], whole["ledger_row"]) == ("CANCELLED", False)
    assert (scoped["status"], scoped["scope"]) == ("OK", ["billing", "crm"])


async def test_a_widened_search_says_what_the_ledger_says() -> None:
    documents = Documents(by_project={"billing": ["b1"], "other": ["o1", "o2"]})
    reply, collector = await asked({"kg": Graph(), "vector": documents}, SAMPLE, SearchRequest(query=CROSS), SCOPED)
    agrees(reply, collector)


@pytest.mark.parametrize("metadata", [SAMPLE, DO_NOT_SAMPLE])
async def test_lost_fusion_is_said(metadata: tuple[tuple[str, str], ...]) -> None:
    async with collected() as collector, mesh(healthy(), fusion=NOBODY, table=UNHURRIED) as running:
        reply = await running.search.Search(WHY, metadata=metadata)
    sound(collector)
    agrees(reply, collector)
    assert (said(collector.one("fuse"))["reason"], failed(collector.one("fuse"))) == ("UNAVAILABLE", True)
    assert said(collector.one("SearchService/Search"))["fusion_error"] == "UNAVAILABLE"


async def final(running: Mesh, metadata: tuple[tuple[str, str], ...]) -> SearchResponse:
    call = running.search.StreamSearch(StreamSearchRequest(search=WHY), metadata=metadata)
    return [event async for event in call][-1].final


@pytest.mark.parametrize(("metadata", "stages"), [(SAMPLE, True), (DO_NOT_SAMPLE, False)])
async def test_a_streamed_query_has_the_same_trace(metadata: tuple[tuple[str, str], ...], stages: bool) -> None:
    lanes = healthy() | {"kg": FakeLane(error=Unavailable("away"))}
    async with collected() as collector, mesh(lanes, table=UNHURRIED) as running:
        reply = await final(running, metadata)
    sound(collector, "SearchService/StreamSearch")
    agrees(reply, collector)
    renamed = {
        tuple("SearchService/StreamSearch" if name == "SearchService/Search" else name for name in edge)
        for edge in PARTS | {("SearchService/Search", "lane kg")}
    }
    assert renamed <= collector.edges()
    assert (collector.edges() >= STAGES) is stages


async def test_a_refused_query_is_an_event_where_its_caller_sampled_it() -> None:
    lane = FakeLane([evidence("v")], gate=asyncio.Event())
    async with collected() as collector, mesh({"vector": lane}, table=NARROW) as running:
        first = running.search.Search(WHY, metadata=DO_NOT_SAMPLE)
        await lane.started.wait()
        for metadata in (SAMPLE, DO_NOT_SAMPLE):
            with pytest.raises(grpc.aio.AioRpcError):
                await running.search.Search(WHY, metadata=metadata)
        assert lane.gate
        lane.gate.set()
        await first
    assert collector.names() == ["SearchService/Search"]
    assert events(collector.one("SearchService/Search")) == [("shed", {"reason": "RESOURCE_EXHAUSTED"})]


@pytest.mark.parametrize("metadata", [SAMPLE, DO_NOT_SAMPLE])
async def test_the_question_is_told_only_when_a_setting_allows_it(metadata: tuple[tuple[str, str], ...]) -> None:
    lanes = healthy() | {"kg": NOBODY}
    _, collector = await asked(lanes, metadata)
    assert "hunter2" not in collector.text()
    _, collector = await asked(lanes, metadata, query_text=True)
    assert said(collector.one("SearchService/Search"))["query"] == SECRET
    assert collector.text().count("hunter2") == 1


async def test_advice_that_was_not_waited_for_says_what_the_ledger_says() -> None:
    lanes = {"keyword": FakeLane([evidence("k")]), "preflight": FakeLane(gate=asyncio.Event())}
    request = SearchRequest(query="why", include_lanes=["keyword", "preflight"])
    reply, collector = await asked(lanes, SAMPLE, request)
    sound(collector)
    assert row(reply, "preflight").status == lane_pb2.LANE_STATUS_BYPASSED
    found = said(collector.one("lane preflight"))
    assert (found["status"], found["reason"]) == ("BYPASSED", "BUDGET_EXCEEDED")
    assert found["budget_spent_ms"] == row(reply, "preflight").elapsed_ms


async def test_preflight_alone_has_a_trace_too() -> None:
    lanes = {"preflight": FakeLane([evidence("p")])}
    async with collected() as collector, mesh(lanes, table=UNHURRIED) as running:
        await running.search.Refine(search_pb2.RefineRequest(query="why"), metadata=SAMPLE)
    assert {("SearchService/Refine", "lane preflight"), ("lane preflight", spans.RETRIEVE)} <= collector.edges()
