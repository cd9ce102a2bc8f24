"""Any lane as a service: statuses, limits, the deadline, and ingestion in batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import (
    DeleteRequest,
    Entity,
    RecordFailure,
    Relation,
    StatsRequest,
    StatsResponse,
    UpsertRequest,
)
from lanemesh.v1.index_pb2_grpc import IndexServiceStub
from lanemesh.v1.lane_pb2 import Filters, RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime import deadline
from services.runtime.clients import health_method
from services.runtime.errors import DeadlinePassed, InvalidRequest, LanemeshError, Overloaded, Unavailable, from_status
from services.runtime.registry import Table
from services.runtime.servicer import BATCH_RECORDS, MAX_DELETE, MAX_PROJECTS, MAX_QUERY, MAX_RESULTS
from tests.runtime.conftest import Watched
from tests.support import TABLE, FakeLane, evidence, lane_server

QUESTION = RetrieveRequest(query="how are charges retried", max_results=10)
PIECES = (evidence("one"), evidence("two"))


@dataclass
class Served:
    lane: LaneServiceStub
    index: IndexServiceStub
    channel: grpc.aio.Channel


@asynccontextmanager
async def served(lane: FakeLane, table: Table = TABLE) -> AsyncIterator[Served]:
    async with lane_server("keyword", lane, table) as address, grpc.aio.insecure_channel(address) as channel:
        yield Served(LaneServiceStub(channel), IndexServiceStub(channel), channel)


def budgets(seconds: dict[str, float]) -> Table:
    """The table with other budgets; far apart, so that no delay of the machine confuses them."""
    row = replace(TABLE.lanes["keyword"], budget_ms={mode: 1000 * budget for mode, budget in seconds.items()})
    return replace(TABLE, lanes={**TABLE.lanes, "keyword": row})


async def refused(call: grpc.aio.UnaryUnaryCall[object, object]) -> LanemeshError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return from_status(caught.value)


async def test_a_lane_that_finds_something_answers_ok() -> None:
    async with served(FakeLane(PIECES)) as mesh:
        reply = await mesh.lane.Retrieve(QUESTION)
    assert (reply.lane, reply.status, reply.reason) == ("keyword", lane_pb2.LANE_STATUS_OK, "")
    assert [piece.document.id for piece in reply.evidence] == ["one", "two"]
    assert reply.elapsed_ms > 0


async def test_a_lane_that_finds_nothing_answers_empty_with_reason_and_message() -> None:
    async with served(FakeLane()) as mesh:
        reply = await mesh.lane.Retrieve(QUESTION)
    assert reply.status == lane_pb2.LANE_STATUS_EMPTY
    assert (reply.reason, reply.message) == ("NO_MATCH", "nothing matched")


@dataclass
class Telling(FakeLane):
    """A lane that fills the reply as it is told."""

    told: RetrieveResponse = field(default_factory=RetrieveResponse)

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        reply.MergeFrom(self.told)
        await super().retrieve(request, reply)


async def test_what_the_lane_itself_says_is_kept() -> None:
    told = RetrieveResponse(reason="NO_ENTITY", message="No entity in the query.")
    async with served(Telling(told=told)) as mesh:
        reply = await mesh.lane.Retrieve(QUESTION)
    assert reply.status == lane_pb2.LANE_STATUS_EMPTY
    assert (reply.reason, reply.message) == ("NO_ENTITY", "No entity in the query.")


async def test_a_status_the_lane_sets_is_kept() -> None:
    told = RetrieveResponse(status=lane_pb2.LANE_STATUS_PARTIAL, reason="TRUNCATED")
    async with served(Telling(PIECES, told=told)) as mesh:
        reply = await mesh.lane.Retrieve(QUESTION)
    assert (reply.status, reply.reason) == (lane_pb2.LANE_STATUS_PARTIAL, "TRUNCATED")


async def test_the_total_is_never_below_what_is_returned() -> None:
    async with served(Telling(told=RetrieveResponse(evidence=PIECES))) as mesh:
        assert (await mesh.lane.Retrieve(QUESTION)).total_found == 2


async def test_what_is_there_at_the_soft_deadline_is_the_answer() -> None:
    async with served(FakeLane(PIECES, gate=asyncio.Event()), budgets(dict.fromkeys(TABLE.modes, 0.05))) as mesh:
        reply = await mesh.lane.Retrieve(QUESTION)
    assert (reply.status, reply.reason) == (lane_pb2.LANE_STATUS_PARTIAL, "DEADLINE_EXCEEDED")
    assert [piece.document.id for piece in reply.evidence] == ["one", "two"]
    assert "after 2 results" in reply.message
    assert reply.total_found == 2


async def test_nothing_at_the_soft_deadline_is_a_time_out() -> None:
    async with served(FakeLane(gate=asyncio.Event()), budgets(dict.fromkeys(TABLE.modes, 0.05))) as mesh:
        reply = await mesh.lane.Retrieve(QUESTION)
    assert (reply.status, reply.reason) == (lane_pb2.LANE_STATUS_TIMEOUT, "DEADLINE_EXCEEDED")
    assert not reply.evidence


@pytest.mark.parametrize("error", [DeadlinePassed("the engine ran out of time"), TimeoutError()])
async def test_a_lane_that_says_it_ran_out_of_time_is_a_time_out(error: Exception) -> None:
    async with served(FakeLane(error=error)) as mesh:
        assert (await mesh.lane.Retrieve(QUESTION)).status == lane_pb2.LANE_STATUS_TIMEOUT


async def test_an_error_is_a_status_never_an_empty_answer() -> None:
    async with served(FakeLane(PIECES, error=Unavailable("the engine is away"))) as mesh:
        assert isinstance(await refused(mesh.lane.Retrieve(QUESTION)), Unavailable)


BAD_QUESTIONS: list[tuple[dict[str, Any], str]] = [
    ({"query": ""}, "query"),
    ({"query": "x" * (MAX_QUERY + 1)}, "query"),
    ({"max_results": 0}, "max_results"),
    ({"max_results": -1}, "max_results"),
    ({"max_results": MAX_RESULTS + 1}, "max_results"),
    ({"filters": Filters(projects=["p"] * (MAX_PROJECTS + 1))}, "filters.projects"),
    ({"mode": 99}, "mode"),
]


async def test_a_bad_question_is_refused_by_field_before_the_lane_is_asked() -> None:
    lane = FakeLane(PIECES)
    async with served(lane) as mesh:
        for change, field_name in BAD_QUESTIONS:
            error = await refused(mesh.lane.Retrieve(RetrieveRequest(**({"query": "q", "max_results": 1} | change))))
            assert isinstance(error, InvalidRequest)
            assert error.field == field_name
    assert not lane.asked


async def test_the_limits_themselves_are_allowed() -> None:
    most = Filters(projects=["p"] * MAX_PROJECTS)
    async with served(FakeLane(PIECES)) as mesh:
        for question in (
            RetrieveRequest(query="x", max_results=1),
            RetrieveRequest(query="é" * MAX_QUERY, max_results=MAX_RESULTS, filters=most),
        ):
            assert (await mesh.lane.Retrieve(question)).status == lane_pb2.LANE_STATUS_OK


@dataclass
class Timekeeper(FakeLane):
    """A lane that notes how much time it was given."""

    given: list[float] = field(default_factory=list)

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        current = deadline.current()
        assert current is not None
        self.given.append(current.remaining())


async def test_without_a_deadline_the_mode_of_the_table_decides() -> None:
    lane = Timekeeper()
    seconds = {"simple": 1_000.0, "technical": 2_000.0, "research": 4_000.0, "multimedia": 8_000.0}
    async with served(lane, budgets(seconds)) as mesh:
        for mode in range(5):
            await mesh.lane.Retrieve(RetrieveRequest(query="q", max_results=1, mode=mode))
    assert len(lane.given) == 5
    for given, budget in zip(lane.given, [1_000.0, *seconds.values()], strict=True):
        assert budget / 2 < given < budget


async def test_the_callers_deadline_stands_above_the_table() -> None:
    lane = Timekeeper()
    async with served(lane, budgets(dict.fromkeys(TABLE.modes, 4_000.0))) as mesh:
        await mesh.lane.Retrieve(QUESTION, timeout=500.0)
        await mesh.lane.Retrieve(QUESTION, timeout=9_000.0)
    assert 250.0 < lane.given[0] < 1_000.0
    assert lane.given[1] > 4_500.0


async def test_a_caller_who_cancels_takes_the_handler_along() -> None:
    lane = Watched(PIECES, gate=asyncio.Event())
    async with served(lane) as mesh, asyncio.timeout(30):
        call = mesh.lane.Retrieve(QUESTION, timeout=60.0)
        await lane.started.wait()
        assert lane.running == 1
        call.cancel()
        await lane.ended.wait()
        assert lane.running == 0


async def test_a_caller_whose_channel_breaks_takes_the_handler_along() -> None:
    lane = Watched(PIECES, gate=asyncio.Event())
    async with lane_server("keyword", lane) as address, asyncio.timeout(30):
        async with grpc.aio.insecure_channel(address) as channel:
            call = LaneServiceStub(channel).Retrieve(QUESTION, timeout=60.0)
            await lane.started.wait()
        await lane.ended.wait()
        assert lane.running == 0
        assert call.cancelled()


@dataclass
class Index(FakeLane):
    """A lane that notes the batches it is given, and may hold them."""

    batches: list[int] = field(default_factory=list)
    storing: asyncio.Event = field(default_factory=asyncio.Event)
    hold: asyncio.Event | None = None

    async def upsert(self, records: Sequence[UpsertRequest]) -> Sequence[RecordFailure]:
        self.storing.set()
        if self.hold is not None:
            await self.hold.wait()
        self.batches.append(len(records))
        return await super().upsert(records)

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        return StatsResponse(documents=len(access_labels), engine="fake")


def documents(count: int, content: str = "text") -> list[UpsertRequest]:
    return [
        UpsertRequest(sequence=number, document=Document(id=f"d{number}", content=content))
        for number in range(1, count + 1)
    ]


async def test_records_are_stored_in_batches() -> None:
    lane = Index()
    async with served(lane) as mesh:
        reply = await mesh.index.Upsert(iter(documents(2 * BATCH_RECORDS + 1)))
    assert reply.stored == len(lane.stored) == 2 * BATCH_RECORDS + 1
    assert lane.batches == [BATCH_RECORDS, BATCH_RECORDS, 1]


async def test_a_batch_is_bounded_in_bytes_as_well() -> None:
    lane = Index()
    async with served(lane) as mesh:
        reply = await mesh.index.Upsert(iter(documents(9, "x" * 1_048_576)))
    assert reply.stored == 9
    assert lane.batches == [4, 4, 1]


async def test_an_empty_stream_stores_nothing() -> None:
    lane = Index()
    async with served(lane) as mesh:
        reply = await mesh.index.Upsert(iter(()))
    assert (reply.stored, reply.ignored, lane.batches) == (0, 0, [])


async def test_kinds_the_lane_does_not_keep_are_counted_as_ignored() -> None:
    records = [
        UpsertRequest(sequence=1, entity=Entity(id="e")),
        *documents(1),
        UpsertRequest(sequence=3, relation=Relation(head="a", relation="R", tail="b")),
    ]
    lane = Index()
    async with served(lane) as mesh:
        reply = await mesh.index.Upsert(iter(records))
    assert (reply.stored, reply.ignored, list(lane.stored)) == (1, 2, ["d1"])


async def test_records_the_lane_refuses_are_named_and_not_counted_as_stored() -> None:
    lane = Index(refuse=lambda record: "odd" if record.sequence % 2 else "")
    async with served(lane) as mesh:
        reply = await mesh.index.Upsert(iter(documents(5)))
    assert reply.stored == 2
    assert [(failure.sequence, failure.id) for failure in reply.failures] == [(1, "d1"), (3, "d3"), (5, "d5")]


async def test_records_that_are_not_sound_never_reach_the_lane() -> None:
    records = [UpsertRequest(sequence=1), UpsertRequest(sequence=2, document=Document(id="empty")), *documents(1)]
    lane = Index()
    async with served(lane) as mesh:
        reply = await mesh.index.Upsert(iter(records))
    assert (reply.stored, reply.ignored, list(lane.stored)) == (1, 0, ["d1"])
    assert [(failure.sequence, failure.field) for failure in reply.failures] == [(1, "record"), (2, "document.content")]


async def test_an_engine_that_fails_fails_the_stream() -> None:
    async with served(Index(error=Unavailable("the disk is full"))) as mesh:
        error = await refused(mesh.index.Upsert(iter(documents(1))))
    assert isinstance(error, Unavailable)
    assert error.message == "the disk is full"


async def test_an_engine_out_of_time_is_deadline_exceeded() -> None:
    async with served(Index(error=DeadlinePassed("the lock was not free in time"))) as mesh:
        error = await refused(mesh.index.Upsert(iter(documents(1))))
    assert isinstance(error, DeadlinePassed)


async def test_a_sender_runs_ahead_of_a_slow_index_only_so_far() -> None:
    content, total = "x" * 65_536, 512
    lane = Index(hold=asyncio.Event())
    sent = 0

    async def records() -> AsyncIterator[UpsertRequest]:
        nonlocal sent
        for record in documents(total, content):
            sent += 1
            yield record

    async with served(lane) as mesh, asyncio.timeout(60):
        call = mesh.index.Upsert(records())
        await lane.storing.wait()
        # Round trips in the same loop: each gives the sender a turn it would use if it could.
        for _ in range(100):
            await health_method(mesh.channel)(HealthCheckRequest())
        ahead = sent
        assert lane.hold
        lane.hold.set()
        assert (await call).stored == total
    assert ahead < total / 2


async def test_delete_returns_how_many_were_there() -> None:
    lane = Index()
    async with served(lane) as mesh:
        await mesh.index.Upsert(iter(documents(3)))
        reply = await mesh.index.Delete(DeleteRequest(document_ids=["d1", "d3", "d9"]))
    assert (reply.deleted, list(lane.stored)) == (2, ["d2"])


async def test_too_many_deletions_at_once_are_refused_by_field() -> None:
    async with served(Index()) as mesh:
        for field_name, one in (("document_ids", "x"), ("entity_ids", "x"), ("relations", Relation())):
            await mesh.index.Delete(DeleteRequest(**{field_name: [one] * MAX_DELETE}))
            error = await refused(mesh.index.Delete(DeleteRequest(**{field_name: [one] * (MAX_DELETE + 1)})))
            assert isinstance(error, InvalidRequest)
            assert error.field == field_name


async def test_stats_are_those_of_the_callers_labels() -> None:
    async with served(Index()) as mesh:
        reply = await mesh.index.Stats(StatsRequest(access_labels=["red", "green"]))
    assert (reply.documents, reply.engine) == (2, "fake")


async def test_a_lane_that_is_too_busy_says_when_to_come_back() -> None:
    async with served(FakeLane(error=Overloaded("busy", retry_after=2.0))) as mesh:
        error = await refused(mesh.lane.Retrieve(QUESTION))
    assert isinstance(error, Overloaded)
    assert error.retry_after == 2.0
