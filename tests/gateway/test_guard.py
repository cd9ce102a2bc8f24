"""Through the front door: a lane that keeps failing is left alone, says so, costs nothing, and comes back by itself."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from lanemesh.v1 import lane_pb2
from lanemesh.v1.search_pb2 import BREAKER_STATE_OPEN, SearchRequest, SearchResponse, StreamSearchRequest

from services.runtime.errors import DETAILS_KEY, InvalidRequest, Unavailable
from services.runtime.registry import Table
from tests.gateway.reading import UNHURRIED, ids, row, tuned
from tests.support import NOBODY, FakeLane, Mesh, evidence, mesh

WHY = SearchRequest(query="why")
CALLS = UNHURRIED.protection.breaker.least_calls
OPEN = (0, "left alone")


def with_breaker(table: Table = UNHURRIED, **fields: Any) -> Table:
    row_ = replace(table.protection.breaker, **fields)
    return replace(table, protection=replace(table.protection, breaker=row_))


# Once open, it stays open for the rest of the test.
PATIENT = with_breaker(first_try_ms=3_600_000, longest_ms=3_600_000, longest_hung_ms=3_600_000)


def said(reply: SearchResponse) -> tuple[int, str]:
    entry = row(reply, "vector")
    left_alone = entry.HasField("breaker") and not entry.budget_ms
    return OPEN if left_alone else (entry.status, entry.reason)


async def asked(running: Mesh, times: int, deadline: float | None = None) -> list[tuple[int, str]]:
    return [said(await running.search.Search(WHY, timeout=deadline)) for _ in range(times)]


async def test_an_open_breaker_is_a_failure_that_costs_nothing_and_shows_the_next_try() -> None:
    lanes = {"vector": FakeLane(error=ValueError("broken")), "keyword": FakeLane([evidence("a")])}
    async with mesh(lanes, table=PATIENT) as running:
        assert set(await asked(running, CALLS)) == {(lane_pb2.LANE_STATUS_ERROR, "INTERNAL")}
        reply = await running.search.Search(WHY)
    entry = row(reply, "vector")
    assert said(reply) == OPEN
    # It fails as the call that opened the breaker did.
    assert (entry.status, entry.reason) == (lane_pb2.LANE_STATUS_ERROR, "INTERNAL")
    assert (entry.budget_ms, entry.returned, entry.breaker.state) == (0, 0, BREAKER_STATE_OPEN)
    assert entry.breaker.next_try.ToMilliseconds() > 0
    assert "next try" in entry.message
    assert len(lanes["vector"].asked) == CALLS
    assert ids(reply) == ["a"]
    assert not row(reply, "keyword").HasField("breaker")
    assert reply.metrics.lanes_asked == 1


async def test_a_lane_that_comes_back_is_in_the_answers_again() -> None:
    lane = FakeLane([evidence("v")], error=Unavailable("away"))
    async with mesh({"vector": lane}, table=UNHURRIED) as running, asyncio.timeout(30):
        while OPEN not in await asked(running, 1):
            pass
        lane.error = None
        while said(await running.search.Search(WHY)) != (lane_pb2.LANE_STATUS_OK, ""):
            pass
        assert not row(await running.search.Search(WHY), "vector").HasField("breaker")


async def test_a_lane_that_hangs_is_left_alone_too() -> None:
    table = tuned(PATIENT, vector={"budget_ms": 40})
    async with mesh({"vector": FakeLane(gate=asyncio.Event())}, table=table) as running:
        assert OPEN not in await asked(running, CALLS)
        assert await asked(running, 1) == [OPEN]


async def test_callers_in_a_hurry_do_not_take_the_lane_from_the_others() -> None:
    lane = FakeLane(gate=asyncio.Event())
    async with mesh({"vector": lane}, table=PATIENT) as running:
        assert OPEN not in await asked(running, 2 * CALLS, deadline=0.2)


async def test_questions_the_lane_refuses_do_not_speak_against_it() -> None:
    async with mesh({"vector": FakeLane(error=InvalidRequest("query", "no"))}, table=PATIENT) as running:
        assert OPEN not in await asked(running, 3 * CALLS)


async def test_a_lane_nobody_serves_is_left_alone() -> None:
    async with mesh({"vector": NOBODY}, table=PATIENT) as running:
        assert (await asked(running, CALLS + 1))[-1] == OPEN


async def test_a_probe_whose_caller_left_makes_room_for_the_next() -> None:
    lane = FakeLane([evidence("v")], error=Unavailable("away"))
    async with mesh({"vector": lane}, table=with_breaker(first_try_ms=0, longest_ms=0)) as running:
        await asked(running, CALLS)
        lane.error, lane.gate = None, asyncio.Event()
        lane.started.clear()
        probe = running.search.Search(WHY)
        await lane.started.wait()
        assert await asked(running, 1) == [OPEN]
        probe.cancel()
        lane.gate.set()
        async with asyncio.timeout(30):
            while said(await running.search.Search(WHY)) == OPEN:
                pass


# One request at work, nobody waiting.
NARROW = replace(
    UNHURRIED,
    protection=replace(
        UNHURRIED.protection,
        limit=replace(UNHURRIED.protection.limit, minimum=1, initial=1, maximum=1, queue=0),
    ),
)


def retry_after(error: grpc.aio.AioRpcError) -> float:
    (detail,) = [value for key, value in error.trailing_metadata() or () if key == DETAILS_KEY]
    retry = error_details_pb2.RetryInfo()
    assert any(part.Unpack(retry) for part in status_pb2.Status.FromString(detail).details)
    return retry.retry_delay.ToMilliseconds() / 1000


async def test_a_full_gateway_refuses_before_any_work_with_a_hint_and_recovers() -> None:
    lane = FakeLane([evidence("v")])
    async with mesh({"vector": lane}, table=NARROW) as running:
        await running.search.Search(WHY)
        lane.gate = asyncio.Event()
        lane.started.clear()
        first = running.search.Search(WHY)
        await lane.started.wait()
        for refused in (
            running.search.Search(WHY),
            running.search.StreamSearch(StreamSearchRequest(search=WHY)).read(),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await refused
            assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert retry_after(raised.value) >= 0
        assert len(lane.asked) == 2
        lane.gate.set()
        await first
        assert ids(await running.search.Search(WHY)) == ["v"]


async def test_a_stream_that_its_caller_leaves_gives_its_place_back() -> None:
    lane = FakeLane([evidence("v")], gate=asyncio.Event())
    async with mesh({"vector": lane}, table=NARROW) as running:
        stream = running.search.StreamSearch(StreamSearchRequest(search=WHY))
        await stream.read()
        stream.cancel()
        assert lane.gate is not None
        lane.gate.set()
        async with asyncio.timeout(30):
            while True:
                with suppress(grpc.aio.AioRpcError):
                    reply = await running.search.Search(WHY)
                    break
    assert ids(reply) == ["v"]
