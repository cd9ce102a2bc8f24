"""What the gateway exports, read from the registry as Prometheus would, against the ledger of the same query."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import grpc
import pytest
from lanemesh.v1 import lane_pb2, search_pb2
from lanemesh.v1.lane_pb2 import LaneStatus, RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse
from prometheus_client import REGISTRY

from gateway import metrics
from gateway.observe import told
from gateway.shedding import Shedding
from services.runtime.errors import Unavailable
from tests.gateway.clocks import HandClock
from tests.gateway.reading import UNHURRIED, row
from tests.gateway.test_guard import CALLS, NARROW, PATIENT
from tests.gateway.test_hedge import Scripted, forever, replicated
from tests.gateway.test_scope import TABLE as ROUTED
from tests.otlp import SAMPLE, TRACE_ID, collected
from tests.support import NOBODY, FakeLane, evidence, mesh

WHY = SearchRequest(query="why")


def figure(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"lanemesh_{name}", labels) or 0.0


class Growth:
    """How much figures grew since this was made."""

    def __init__(self) -> None:
        self._before = self._read()

    def __call__(self, name: str, **labels: str) -> float:
        key = (f"lanemesh_{name}", frozenset(labels.items()))
        return self._read().get(key, 0.0) - self._before.get(key, 0.0)

    def _read(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in REGISTRY.collect()
            for sample in family.samples
        }


@pytest.fixture
def grew() -> Growth:
    return Growth()


class Cached(FakeLane):
    """A lane that answers from its cache."""

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        await super().retrieve(request, reply)
        reply.cache = lane_pb2.CACHE_USE_HIT


async def asked(lanes: dict[str, FakeLane | str], request: SearchRequest = WHY, **fields: Any) -> SearchResponse:
    async with mesh(lanes, **({"table": UNHURRIED} | fields)) as running, asyncio.timeout(30):
        return await running.search.Search(request)


async def test_each_row_of_the_ledger_is_counted_and_measured(grew: Growth) -> None:
    lanes = {
        "web": Cached([evidence("w")]),
        "keyword": FakeLane(),
        "kg": FakeLane(error=Unavailable("away")),
    }
    reply = await asked(lanes)
    for entry in reply.ledger:
        status = LaneStatus.Name(entry.status).removeprefix("LANE_STATUS_").lower()
        asked_for = float(entry.budget_ms > 0)
        assert grew("lane_calls_total", lane=entry.lane, status=status) == asked_for
        assert grew("lane_seconds_count", lane=entry.lane) == asked_for
        assert grew("lane_seconds_sum", lane=entry.lane) == pytest.approx(entry.elapsed_ms / 1000, abs=1e-9)
        if entry.budget_ms:
            share = entry.elapsed_ms / entry.budget_ms
            assert grew("lane_budget_share_sum", lane=entry.lane) == pytest.approx(share, abs=1e-9)
    assert [row(reply, lane).status for lane in ("web", "keyword", "kg")] == [
        lane_pb2.LANE_STATUS_OK,
        lane_pb2.LANE_STATUS_EMPTY,
        lane_pb2.LANE_STATUS_ERROR,
    ]
    assert grew("lane_cache_total", lane="web", use="hit") == 1


async def test_a_query_is_counted_by_mode_and_degradation_and_timed_by_stage(grew: Growth) -> None:
    reply = await asked({"keyword": FakeLane([evidence("k")])}, SearchRequest(query="q", mode=lane_pb2.MODE_RESEARCH))
    assert grew("queries_total", mode="research", degradation="l0") == 1
    assert grew("query_seconds_sum", mode="research") == pytest.approx(reply.elapsed_ms / 1000)
    stages = {stage: grew("query_stage_seconds_sum", stage=stage) * 1000 for stage in ("planning", "lanes", "fusion")}
    figures = reply.metrics
    assert stages == pytest.approx(
        {"planning": figures.planning_ms, "lanes": figures.lanes_ms, "fusion": figures.fusion_ms}
    )
    assert grew("query_late_total", mode="research") == 0


async def test_a_fallback_is_counted_by_both_lanes(grew: Growth) -> None:
    lanes: dict[str, FakeLane | str] = {"kg": NOBODY, "vector": FakeLane([evidence("v")])}
    query = SearchRequest(query="How does OrderService connect to PaymentGateway?")
    reply = await asked(lanes, query, table=ROUTED)
    assert row(reply, "vector").fallback_for == "kg"
    assert grew("fallbacks_total", lane="kg", stand_in="vector") == 1


async def test_lost_fusion_is_counted_by_its_reason(grew: Growth) -> None:
    await asked({"keyword": FakeLane([evidence("k")])}, fusion=NOBODY)
    assert grew("fusion_lost_total", reason="UNAVAILABLE") == 1


async def test_an_open_breaker_is_shown_counted_and_told(grew: Growth, caplog: pytest.LogCaptureFixture) -> None:
    async with mesh({"vector": FakeLane(error=ValueError("broken"))}, table=PATIENT) as running:
        for _ in range(CALLS + 1):
            await running.search.Search(WHY)
    assert figure("breaker_state", lane="vector") == 2
    assert grew("breaker_opened_total", lane="vector") == 1
    (line,) = [record for record in caplog.records if record.getMessage() == "breaker opened"]
    assert vars(line)["lane"] == "vector"


def test_a_breaker_that_closes_again_shows_it() -> None:
    metrics.breaker_turned("local", search_pb2.BREAKER_STATE_HALF_OPEN)
    assert figure("breaker_state", lane="local") == 1
    metrics.breaker_turned("local", search_pb2.BREAKER_STATE_CLOSED)
    assert figure("breaker_state", lane="local") == 0


async def test_a_backup_call_is_counted_by_who_answered(grew: Growth) -> None:
    one, two = Scripted(name="one"), Scripted(name="two")
    async with replicated(one, two) as running:
        one.stall = forever
        while not one.asked:
            await running.search.Search(WHY)
    assert grew("hedges_total", lane="vector", winner="backup") >= 1


async def test_a_refused_request_is_counted(grew: Growth) -> None:
    lane = FakeLane([evidence("v")], gate=asyncio.Event())
    async with mesh({"vector": lane}, table=NARROW) as running:
        first = running.search.Search(WHY)
        await lane.started.wait()
        assert (figure("gate_in_flight"), figure("gate_limit")) == (1, 1)
        with pytest.raises(grpc.aio.AioRpcError):
            await running.search.Search(WHY)
        assert lane.gate
        lane.gate.set()
        await first
    assert grew("sheds_total", why="queue") == 1


def test_refusals_are_told_once_a_second_with_their_number(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    shedding = Shedding(clock)
    for _ in range(5):
        shedding.count("queue")
    clock.pass_(1.0)
    shedding.count("wait")
    assert [(vars(record)["count"], vars(record)["why"]) for record in caplog.records] == [(1, "queue"), (5, "wait")]


async def test_a_traced_query_is_the_exemplar_of_its_bucket() -> None:
    async with collected(), mesh({"keyword": FakeLane([evidence("k")])}, table=UNHURRIED) as running:
        await running.search.Search(SearchRequest(query="q", mode=lane_pb2.MODE_MULTIMEDIA), metadata=SAMPLE)
    exemplars = [
        sample.exemplar.labels["trace_id"]
        for family in REGISTRY.collect()
        if family.name in ("lanemesh_query_seconds", "lanemesh_lane_seconds", "lanemesh_rpc_seconds")
        for sample in family.samples
        if sample.exemplar and {"multimedia", "keyword", "SearchService/Search"} & set(sample.labels.values())
    ]
    assert exemplars.count(TRACE_ID) >= 3


HOSTILE = "zanzibar"


async def test_no_label_comes_from_what_a_caller_sends() -> None:
    lanes: dict[str, FakeLane | str] = {"keyword": FakeLane([evidence(HOSTILE)]), "web": FakeLane(), "kg": NOBODY}
    request = SearchRequest(
        query=f"{HOSTILE} project:{HOSTILE}",
        projects=[HOSTILE],
        constraints=lane_pb2.Constraints(sources=["docs"], language=HOSTILE[:2]),
        context=[lane_pb2.ContextItem(text=HOSTILE)],
    )
    async with mesh(lanes, table=UNHURRIED) as running:
        await running.search.Search(request, metadata=(("user-agent", HOSTILE), ("x-tenant", HOSTILE)))
        for refused in (SearchRequest(query="q", include_lanes=[HOSTILE]), SearchRequest(query="q", mode=77)):  # type: ignore[arg-type]
            with pytest.raises(grpc.aio.AioRpcError):
                await running.search.Search(refused)
        with pytest.raises(grpc.aio.AioRpcError):
            await running.channel.unary_unary(f"/lanemesh.v1.SearchService/{HOSTILE}")(b"")
    labels = {
        value for family in REGISTRY.collect() for sample in family.samples for value in (*sample.labels.values(),)
    }
    assert not [value for value in labels if HOSTILE in value or value == "77"]


async def test_the_line_of_a_query_tells_what_each_lane_did_and_not_what_was_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "gateway.observe")
    reply = await asked({"keyword": FakeLane([evidence("k")]), "kg": NOBODY}, SearchRequest(query="hunter2"))
    (line,) = [record for record in caplog.records if record.getMessage() == "query"]
    entry = row(reply, "keyword")
    assert f"keyword:OK:{entry.elapsed_ms:.0f}" in vars(line)["lanes"]
    assert (vars(line)["mode"], vars(line)["degradation"]) == ("simple", "L1")
    assert "hunter2" not in str(told("simple", reply))
