"""Whatever one lane does, the others' evidence is in the reply and its own failure is a row of the ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from math import inf, nan
from typing import Any

import grpc
import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.evidence_pb2 import Document, Evidence
from lanemesh.v1.index_pb2 import StatsResponse
from lanemesh.v1.lane_pb2 import LaneStatus, RetrieveResponse
from lanemesh.v1.search_pb2 import DEGRADATION_L1, SearchRequest, SearchResponse

from gateway import plan
from gateway.fanout import Fanout
from gateway.round import Round
from services.runtime.clients import Peers
from services.runtime.deadline import Deadline
from services.runtime.errors import DETAILS_KEY, Overloaded, Unavailable
from services.runtime.registry import Table
from tests.gateway.hostile import RETRIEVE, Answer, aborting, answering, never, saying, silent
from tests.gateway.reading import UNHURRIED, ids, row, tuned
from tests.support import NOBODY, FakeLane, evidence, mesh

WHY = SearchRequest(query="why")
# The hostile lane runs out of time long before the good ones do.
HURRIED = tuned(UNHURRIED, vector={"budget_ms": 150})


async def beside_good_lanes(lane: FakeLane | str, table: Table = UNHURRIED) -> SearchResponse:
    """One search with `lane` as vector; asserts that the two good lanes beside it lost nothing."""
    good = {"keyword": FakeLane([evidence("a"), evidence("b")]), "kg": FakeLane([evidence("c")])}
    async with mesh({"vector": lane, **good}, table=table) as running:
        reply = await running.search.Search(WHY)
    assert {"a", "b", "c"} <= set(ids(reply))
    assert [row(reply, name).status for name in good] == [lane_pb2.LANE_STATUS_OK] * 2
    assert [entry.lane for entry in reply.ledger] == [entry.lane for entry in reply.plan.lanes]
    return reply


@asynccontextmanager
async def vector(answer: Answer) -> AsyncIterator[str]:
    async with answering(RETRIEVE, answer) as address:
        yield address


def good_reply(**fields: Any) -> RetrieveResponse:
    return RetrieveResponse(
        **{"lane": "vector", "status": lane_pb2.LANE_STATUS_OK, "evidence": [evidence("v")], "total_found": 1} | fields
    )


async def test_ok_is_reported_with_what_was_returned_and_kept() -> None:
    reply = await beside_good_lanes(FakeLane([evidence("v"), evidence("a")]))
    entry = row(reply, "vector")
    assert (entry.status, entry.reason, entry.returned, entry.kept) == (lane_pb2.LANE_STATUS_OK, "", 2, 2)
    assert entry.elapsed_ms > 0
    assert entry.budget_ms == UNHURRIED.lanes["vector"].budget_ms["simple"]


async def test_a_lane_cut_short_is_partial_and_its_evidence_counts() -> None:
    said = good_reply(status=lane_pb2.LANE_STATUS_PARTIAL, reason="DEADLINE_EXCEEDED")
    async with vector(saying(said.SerializeToString())) as address:
        reply = await beside_good_lanes(address)
    entry = row(reply, "vector")
    assert (entry.status, entry.reason, entry.returned) == (lane_pb2.LANE_STATUS_PARTIAL, "DEADLINE_EXCEEDED", 1)
    assert "v" in ids(reply)
    assert reply.degradation == DEGRADATION_L1


async def test_a_lane_without_a_match_is_empty_and_says_so() -> None:
    entry = row(await beside_good_lanes(FakeLane()), "vector")
    assert (entry.status, entry.reason, entry.returned) == (lane_pb2.LANE_STATUS_EMPTY, "NO_MATCH", 0)
    assert entry.message


async def test_a_lane_that_found_nothing_in_time_is_a_time_out() -> None:
    entry = row(await beside_good_lanes(FakeLane(gate=asyncio.Event()), table=HURRIED), "vector")
    assert (entry.status, entry.reason) == (lane_pb2.LANE_STATUS_TIMEOUT, "DEADLINE_EXCEEDED")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unavailable("the engine is away"), "UNAVAILABLE"),
        (Overloaded("too many"), "RESOURCE_EXHAUSTED"),
        (ValueError("secret-password"), "INTERNAL"),
    ],
)
async def test_a_failing_lane_is_an_error_with_its_reason(error: Exception, reason: str) -> None:
    reply = await beside_good_lanes(FakeLane(error=error))
    entry = row(reply, "vector")
    assert (entry.status, entry.reason, entry.returned) == (lane_pb2.LANE_STATUS_ERROR, reason, 0)
    assert "secret" not in entry.message
    assert reply.degradation == DEGRADATION_L1


async def test_a_lane_nobody_serves_is_unavailable() -> None:
    entry = row(await beside_good_lanes(NOBODY), "vector")
    assert (entry.status, entry.reason) == (lane_pb2.LANE_STATUS_ERROR, "UNAVAILABLE")


async def test_a_server_that_never_speaks_costs_its_own_budget_only() -> None:
    async with silent() as address:
        entry = row(await beside_good_lanes(address, table=HURRIED), "vector")
    # Whichever gives up first: the connection attempt or the lane's time.
    assert entry.status in (lane_pb2.LANE_STATUS_TIMEOUT, lane_pb2.LANE_STATUS_ERROR)
    assert entry.reason in ("DEADLINE_EXCEEDED", "UNAVAILABLE")
    assert entry.budget_ms == 150


async def test_a_lane_that_ignores_its_deadline_is_left_behind() -> None:
    async with vector(never) as address:
        entry = row(await beside_good_lanes(address, table=HURRIED), "vector")
    assert (entry.status, entry.reason) == (lane_pb2.LANE_STATUS_TIMEOUT, "DEADLINE_EXCEEDED")


async def test_a_server_without_the_lane_service_is_an_error() -> None:
    async with answering("lanemesh.v1.Other/Method", never) as address:
        entry = row(await beside_good_lanes(address), "vector")
    assert (entry.status, entry.reason) == (lane_pb2.LANE_STATUS_ERROR, "UNIMPLEMENTED")


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
async def test_every_status_code_is_a_row(code: grpc.StatusCode) -> None:
    async with vector(aborting(code)) as address:
        entry = row(await beside_good_lanes(address), "vector")
    late = code is grpc.StatusCode.DEADLINE_EXCEEDED
    assert entry.status == (lane_pb2.LANE_STATUS_TIMEOUT if late else lane_pb2.LANE_STATUS_ERROR)
    # A lane that drops a call is as good as gone.
    dropped = code is grpc.StatusCode.CANCELLED
    assert entry.reason == ("UNAVAILABLE" if dropped else code.name)


async def test_status_details_that_do_not_parse_are_no_worse_than_none() -> None:
    async with vector(aborting(grpc.StatusCode.INTERNAL, ((DETAILS_KEY, b"\xff\xff\xff"),))) as address:
        entry = row(await beside_good_lanes(address), "vector")
    assert (entry.status, entry.reason) == (lane_pb2.LANE_STATUS_ERROR, "INTERNAL")


UNUSABLE = {
    "nothing at all": b"",
    "garbage": b"\xff\xfe\xfd garbage",
    "truncated": good_reply().SerializeToString()[:-3],
    "another type": StatsResponse(documents=7, engine="fake", documents_by_project={"p": 1}).SerializeToString(),
    "another type that parses": Document(id="vector", content="text").SerializeToString(),
    "another lane": good_reply(lane="keyword").SerializeToString(),
    "no lane": good_reply(lane="").SerializeToString(),
    "no status": good_reply(status=0).SerializeToString(),
    "skipped, though asked": good_reply(status=lane_pb2.LANE_STATUS_SKIPPED).SerializeToString(),
    "unknown status": good_reply(status=99).SerializeToString(),
    "no document": good_reply(evidence=[Evidence(score=1.0)]).SerializeToString(),
    "score NaN": good_reply(evidence=[evidence("v", score=nan)]).SerializeToString(),
    "score infinite": good_reply(evidence=[evidence("v", score=inf)]).SerializeToString(),
}


@pytest.mark.parametrize("reply", UNUSABLE.values(), ids=UNUSABLE)
async def test_a_reply_that_cannot_be_used_is_an_error(reply: bytes) -> None:
    async with vector(saying(reply)) as address:
        response = await beside_good_lanes(address)
    entry = row(response, "vector")
    assert (entry.status, entry.reason) == (lane_pb2.LANE_STATUS_ERROR, "BAD_REPLY")
    assert (entry.returned, entry.kept) == (0, 0)
    assert "v" not in ids(response)


async def test_a_reply_larger_than_the_limit_is_an_error() -> None:
    huge = good_reply(evidence=[evidence("v", "x" * 6 * 1024 * 1024)])
    async with vector(saying(huge.SerializeToString())) as address:
        entry = row(await beside_good_lanes(address), "vector")
    assert (entry.status, entry.reason) == (lane_pb2.LANE_STATUS_ERROR, "RESOURCE_EXHAUSTED")


@pytest.mark.parametrize("status", ["LANE_STATUS_BYPASSED", "LANE_STATUS_ERROR", "LANE_STATUS_TIMEOUT"])
async def test_what_a_lane_says_of_itself_stands_in_its_row(status: str) -> None:
    said = good_reply(status=LaneStatus.Value(status), reason="SAID_SO", message="as it says", evidence=[])
    async with vector(saying(said.SerializeToString())) as address:
        entry = row(await beside_good_lanes(address), "vector")
    assert (entry.status, entry.reason, entry.message) == (LaneStatus.Value(status), "SAID_SO", "as it says")


@pytest.mark.parametrize(("status", "said"), [(lane_pb2.LANE_STATUS_EMPTY, ""), (lane_pb2.LANE_STATUS_OK, "NOT_QUITE")])
async def test_a_reason_is_empty_exactly_when_the_status_is_ok(status: Any, said: str) -> None:
    async with vector(saying(good_reply(status=status, reason=said).SerializeToString())) as address:
        entry = row(await beside_good_lanes(address), "vector")
    assert (entry.reason == "") == (entry.status == lane_pb2.LANE_STATUS_OK)


async def test_every_lane_is_asked_before_any_has_answered() -> None:
    gate = asyncio.Event()
    lanes = {name: FakeLane([evidence(name)], gate=gate) for name in ("web", "vector", "kg", "keyword", "local")}
    async with mesh(lanes, table=UNHURRIED) as running:
        call = running.search.Search(WHY)
        await asyncio.gather(*(lane.started.wait() for lane in lanes.values()))
        gate.set()
        reply = await call
    assert sorted(ids(reply)) == sorted(lanes)


async def test_each_lane_is_asked_once_with_its_own_limits() -> None:
    lanes = {"vector": FakeLane([evidence("v")]), "kg": FakeLane([evidence("g")])}
    async with mesh(lanes, table=UNHURRIED) as running:
        await running.search.Search(WHY)
    assert {name: [question.max_results for question in lane.asked] for name, lane in lanes.items()} == {
        "vector": [10],
        "kg": [20],
    }


async def test_an_error_nobody_foresaw_is_a_row_too() -> None:
    table = UNHURRIED.only({"vector", "kg"})
    planned = plan.make(WHY, table, 60_000.0, 0.0, datetime(2026, 3, 1, tzinfo=UTC))
    peers = Peers(dict.fromkeys(("vector", "kg"), NOBODY), max_reply_bytes=1024)
    fanout = Fanout(table, peers)
    # A call on a closed channel fails before it has any status.
    await peers.close()
    asking = Round(table, fanout, WHY, planned, Deadline.after(60.0), time.monotonic())
    outcomes = [outcome async for outcome in asking.outcomes()]
    assert {outcome.lane: (outcome.status, outcome.reason) for outcome in outcomes} == {
        "vector": (lane_pb2.LANE_STATUS_ERROR, "INTERNAL"),
        "kg": (lane_pb2.LANE_STATUS_ERROR, "INTERNAL"),
    }
