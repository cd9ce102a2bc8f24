"""A backup goes to another replica, seldom, and the first usable answer counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2 import SearchRequest

from gateway.hedge import Hedge
from services.runtime.errors import Unavailable
from services.runtime.registry import Table
from tests.gateway.reading import UNHURRIED, at_work, ids, row, settled, tuned
from tests.support import FakeLane, Mesh, evidence, lane_server, mesh

# Every call gets a backup at once, as soon as one call has been answered.
EAGER = replace(UNHURRIED.protection.hedge, least_samples=1, least_ms=0.0, quantile=0.5, share=1.0)
ROW = replace(EAGER, least_samples=4, quantile=0.95, share=0.05, burst=2.0, least_ms=2.0)
WHY = SearchRequest(query="why")


def with_hedge(table: Table = UNHURRIED, **fields: Any) -> Table:
    return replace(table, protection=replace(table.protection, hedge=replace(EAGER, **fields)))


def test_there_is_no_delay_until_enough_is_known() -> None:
    hedge = Hedge(ROW)
    for seconds in (0.010, 0.010, 0.010):
        hedge.took(seconds)
    assert hedge.delay() is None
    hedge.took(0.030)
    assert hedge.delay() == 0.030


def test_the_delay_has_a_floor() -> None:
    hedge = Hedge(ROW)
    for _ in range(10):
        hedge.took(0.0001)
    assert hedge.delay() == 0.002


def test_backups_never_exceed_their_share_of_the_calls() -> None:
    hedge, backups = Hedge(ROW), 0
    for calls in range(1, 2001):
        hedge.sent()
        backups += hedge.take()
        assert backups <= 0.05 * calls + 0.001
    assert backups == 100


def test_a_quiet_time_saves_up_no_more_than_the_burst() -> None:
    hedge = Hedge(ROW)
    for _ in range(1000):
        hedge.sent()
    assert [hedge.take() for _ in range(3)] == [True, True, False]


@dataclass
class Scripted(FakeLane):
    """A replica that answers by its name; whoever holds `stall` decides how."""

    name: str = ""
    stall: Callable[[], Awaitable[None]] | None = None
    ended: list[str] = field(default_factory=list)

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        self.asked.append(request)
        self.started.set()
        try:
            if self.stall is not None:
                await self.stall()
            if self.error is not None:
                raise self.error
            reply.evidence.append(evidence(self.name))
            self.ended.append("answered")
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise


@asynccontextmanager
async def replicated(*lanes: FakeLane, name: str = "vector", table: Table | None = None) -> AsyncIterator[Mesh]:
    """A mesh of one lane with several replicas, each of them connected and asked once."""
    table = table or with_hedge()
    async with AsyncExitStack() as stack:
        addresses = [await stack.enter_async_context(lane_server(name, lane, table)) for lane in lanes]
        running = await stack.enter_async_context(mesh({name: f"ipv4:{','.join(addresses)}"}, table=table))
        async with asyncio.timeout(30):
            while not all(lane.asked for lane in lanes):
                await running.search.Search(WHY)
        for lane in lanes:
            lane.asked.clear()
            lane.started.clear()
        yield running


async def forever() -> None:
    await asyncio.Event().wait()


async def test_calls_go_to_every_replica_in_turn() -> None:
    lanes = [Scripted(name="one"), Scripted(name="two")]
    async with replicated(*lanes, table=with_hedge(share=0.0)) as running:
        for _ in range(10):
            await running.search.Search(WHY)
    assert [len(lane.asked) for lane in lanes] == [5, 5]


async def test_a_stalled_replica_is_outrun_by_the_other_and_its_call_cancelled() -> None:
    one, two = Scripted(name="one"), Scripted(name="two")
    async with replicated(one, two) as running:
        before = at_work()
        one.stall = forever
        one.ended.clear()
        async with asyncio.timeout(30):
            replies = [await running.search.Search(WHY) for _ in range(2)]
        await settled(before)
    assert [ids(reply) for reply in replies] == [["two"], ["two"]]
    assert any(row(reply, "vector").hedged for reply in replies)
    assert {row(reply, "vector").status for reply in replies} == {lane_pb2.LANE_STATUS_OK}
    assert one.ended
    assert set(one.ended) == {"cancelled"}


async def test_the_first_call_counts_when_it_answers_before_its_backup() -> None:
    one, two = Scripted(name="one"), Scripted(name="two")
    gate = asyncio.Event()
    async with replicated(one, two) as running:
        one.stall, two.stall = gate.wait, forever  # type: ignore[assignment]
        async with asyncio.timeout(30):
            call = running.search.Search(WHY)
            await asyncio.gather(one.started.wait(), two.started.wait())
            gate.set()
            reply = await call
    assert ids(reply) == ["one"]
    assert row(reply, "vector").hedged


async def test_a_backup_that_fails_does_not_count() -> None:
    one, two = Scripted(name="one"), Scripted(name="two")
    gate = asyncio.Event()
    async with replicated(one, two) as running:
        one.stall = gate.wait  # type: ignore[assignment]
        two.error = ValueError("broken")
        async with asyncio.timeout(30):
            call = running.search.Search(WHY)
            await asyncio.gather(one.started.wait(), two.started.wait())
            gate.set()
            reply = await call
    assert ids(reply) == ["one"]


async def test_when_neither_can_be_used_the_row_says_why() -> None:
    lanes = [Scripted(name="one"), Scripted(name="two")]
    async with replicated(*lanes) as running:
        for lane in lanes:
            lane.error = ValueError("broken")
        reply = await running.search.Search(WHY)
    entry = row(reply, "vector")
    assert (entry.status, entry.reason) == (lane_pb2.LANE_STATUS_ERROR, "INTERNAL")


async def test_a_replica_that_is_gone_is_made_up_for_by_the_other() -> None:
    lanes = [Scripted(name="one"), Scripted(name="two")]
    async with replicated(*lanes, table=with_hedge(least_samples=10_000)) as running:
        lanes[0].error = Unavailable("going away")
        replies = [await running.search.Search(WHY) for _ in range(4)]
    assert {tuple(ids(reply)) for reply in replies} == {("two",)}


@pytest.mark.parametrize("name", ["web", "news", "markets"])
async def test_a_paid_lane_is_never_asked_twice(name: str) -> None:
    lanes = [Scripted(name="one"), Scripted(name="two")]
    async with replicated(*lanes, name=name) as running:
        arrived = asyncio.Barrier(7)
        for lane in lanes:
            lane.stall = arrived.wait  # type: ignore[assignment]
        calls = [running.search.Search(WHY) for _ in range(6)]
        async with asyncio.timeout(30):
            await arrived.wait()
            replies = await asyncio.gather(*calls)
    assert sum(len(lane.asked) for lane in lanes) == 6
    assert not any(row(reply, name).hedged for reply in replies)


async def test_a_caller_that_leaves_cancels_the_call_and_its_backup() -> None:
    lanes = [Scripted(name="one"), Scripted(name="two")]
    async with replicated(*lanes) as running:
        before = at_work()
        for lane in lanes:
            lane.stall = forever
            lane.ended.clear()
        call = running.search.Search(WHY)
        async with asyncio.timeout(30):
            await asyncio.gather(*(lane.started.wait() for lane in lanes))
            call.cancel()
            await settled(before)
    assert [lane.ended for lane in lanes] == [["cancelled"], ["cancelled"]]


async def test_both_calls_end_with_the_lanes_budget() -> None:
    table = tuned(with_hedge(), vector={"budget_ms": 300})
    lanes = [Scripted(name="one"), Scripted(name="two")]
    async with replicated(*lanes, table=table) as running:
        for lane in lanes:
            lane.stall = forever
        reply = await running.search.Search(WHY)
    assert row(reply, "vector").status == lane_pb2.LANE_STATUS_TIMEOUT
    assert row(reply, "vector").hedged


def test_grpc_offers_no_way_to_learn_which_replica_a_call_went_to() -> None:
    """Should it ever, replicas need no channels of their own."""
    assert not hasattr(grpc.aio.UnaryUnaryCall, "peer")
