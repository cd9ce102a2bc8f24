"""Start, stop, time and crashes of the embedded graph: what is stored stays, what is no longer wanted stops."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from pathlib import Path

import grpc
import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import Entity, Relation, StatsRequest, UpsertRequest
from lanemesh.v1.index_pb2_grpc import IndexServiceStub
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.kg.lane import KgLane, open_lane
from services.kg.schema import VERSION
from services.runtime.clients import open_channel
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import DeadlinePassed, StartupError, Unavailable
from tests.kg.conftest import records
from tests.runtime.processes import environment as process_environment
from tests.runtime.processes import running

BATCHES, PER_BATCH = 40, 50


@pytest.fixture
async def lane(environment: dict[str, str]):
    opened = await open_lane(environment)
    yield opened
    await opened.close()


async def test_acknowledged_records_survive(environment: dict[str, str]) -> None:
    first = await open_lane(environment)
    await first.upsert(records(Entity(id="a", name="A"), Relation(head="a", relation="R", tail="b"), _document(1)))
    await first.close()
    second = await open_lane(environment)
    stats = await second.stats([])
    assert (stats.entities, stats.relations, stats.documents) == (2, 1, 1)
    assert (stats.engine, stats.size_bytes > 0) == ("sqlite-graph", True)
    await second.close()


def _document(number: int) -> Document:
    return Document(id=f"d{number}", content=f"text {number}", project="p")


async def test_killed_amid_ingestion_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    settings = process_environment(tmp_path)
    async with running("services.runtime", "kg", environment=settings) as process, open_channel(process.address) as way:
        acknowledged = await _until_killed(IndexServiceStub(way), process.process.pid)
    assert PER_BATCH * BATCHES // 4 <= acknowledged < PER_BATCH * BATCHES
    async with running("services.runtime", "kg", environment=settings) as process, open_channel(process.address) as way:
        index = IndexServiceStub(way)
        assert (await index.Stats(StatsRequest())).relations >= acknowledged
        for batch in range(BATCHES):
            await index.Upsert(iter(_batch(batch)))
        assert (await index.Stats(StatsRequest())).relations == BATCHES * PER_BATCH


async def _until_killed(index: IndexServiceStub, pid: int) -> int:
    """Stores batch after batch, kills the lane amid one of them, and returns how many records were acknowledged."""
    acknowledged = 0
    try:
        for batch in range(BATCHES):
            acknowledged += (await index.Upsert(iter(_batch(batch)))).stored
            if batch == BATCHES // 4:
                # The next batch is on its way when the process dies.
                asyncio.get_running_loop().call_soon(os.kill, pid, signal.SIGKILL)
    except grpc.aio.AioRpcError:
        return acknowledged
    raise AssertionError("the lane outlived its kill")


def _batch(batch: int) -> list[UpsertRequest]:
    return records(*(Relation(head=f"h{batch}", relation="R", tail=f"t{n}") for n in range(PER_BATCH)))


class RunsOut:
    """A clock that stands still for a number of looks and then runs out."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def __call__(self) -> float:
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 2.0


async def test_deadline_passes_during_a_batch_and_nothing_is_kept(lane: KgLane) -> None:
    many = records(*(Relation(head=f"h{n}", relation="R", tail=f"t{n % 7}") for n in range(2_000)))
    with ambient(Deadline(1.0, RunsOut(looks=1))), pytest.raises(DeadlinePassed):
        await lane.upsert(many)
    assert (await lane.stats([])).entities == 0


async def test_deadline_passes_during_a_question(lane: KgLane) -> None:
    await lane.upsert(records(*(Relation(head="Hub", relation="R", tail=f"t{n}") for n in range(2_000))))
    reply = RetrieveResponse()
    with ambient(Deadline(1.0, RunsOut(looks=40))), pytest.raises(DeadlinePassed):
        await lane.retrieve(RetrieveRequest(query="Hub", max_results=5), reply)
    # The entity was found before time ran out: this much is returned as PARTIAL.
    assert [evidence.document.title for evidence in reply.evidence] == ["Hub"]


async def test_reading_goes_on_while_writing(lane: KgLane) -> None:
    await lane.upsert(records(Entity(id="a", name="Always")))

    async def write() -> None:
        for batch in range(5):
            await lane.upsert(_batch(batch))

    async def read() -> int:
        reply = RetrieveResponse()
        await lane.retrieve(RetrieveRequest(query="Always", max_results=5), reply)
        return len(reply.evidence)

    _, *counts = await asyncio.gather(write(), *(read() for _ in range(20)))
    assert counts == [1] * 20


def _graph(environment: dict[str, str]) -> Path:
    return Path(environment["LANEMESH_HOME"]) / "data" / "kg.sqlite3"


async def test_schema_mismatch_refuses_to_start(environment: dict[str, str]) -> None:
    await (await open_lane(environment)).close()
    connection = sqlite3.connect(_graph(environment))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StartupError, match=rf"version 99.*version {VERSION}"):
        await open_lane(environment)


async def test_locked_graph_is_unavailable(environment: dict[str, str]) -> None:
    lane = await open_lane(environment | {"LANEMESH_KG_LOCK_WAIT_MS": "0"})
    other = sqlite3.connect(_graph(environment), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        await lane.upsert(_batch(0))
    other.close()
    await lane.close()
