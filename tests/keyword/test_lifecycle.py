"""Start, stop, time and other callers of the embedded engine: what is stored stays, what nobody wants stops."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, UpsertRequest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.keyword.lane import KeywordLane, open_lane
from services.keyword.schema import VERSION, require_fts5
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import DeadlinePassed, StartupError, Unavailable
from tests.keyword.engines import EMBEDDED


@pytest.fixture
def engine() -> str:
    return EMBEDDED


async def test_acknowledged_documents_survive(environment: dict[str, str]) -> None:
    first = await open_lane(environment)
    await first.upsert([UpsertRequest(sequence=1, document=Document(id="a", content="zebra"))])
    await first.close()
    second = await open_lane(environment)
    assert (await second.stats([])).documents == 1
    await second.close()


async def test_reading_goes_on_while_writing(lane: KeywordLane, store, search) -> None:
    await store(Document(id="always", content="zebra"))

    async def write() -> None:
        for batch in range(5):
            await store(*(Document(id=f"{batch}-{n}", content="giraffe " * 50) for n in range(100)))

    async def read() -> int:
        return len((await search("zebra")).evidence)

    _, *counts = await asyncio.gather(write(), *(read() for _ in range(50)))
    assert counts == [1] * 50
    assert (await lane.stats([])).documents == 501


async def test_passed_deadline(lane: KeywordLane, search) -> None:
    with ambient(Deadline.after(-1.0)), pytest.raises(DeadlinePassed):
        await search("zebra")


class RunsOut:
    """A clock that stands still for a number of looks and then runs out."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def __call__(self) -> float:
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 2.0


async def test_deadline_passes_during_a_search(store, search) -> None:
    await store(*(Document(id=str(n), content="zebra and giraffe") for n in range(1_000)))
    clock = RunsOut(looks=1)
    with ambient(Deadline(1.0, clock)), pytest.raises(DeadlinePassed):
        await search("zebra giraffe")
    assert clock.looks < 0
    assert (await search("zebra")).total_found == 1_000


async def test_deadline_passes_during_a_batch_and_nothing_is_kept(lane: KeywordLane, store) -> None:
    documents = [Document(id=str(n), content="zebra and giraffe") for n in range(1_000)]
    with ambient(Deadline(1.0, RunsOut(looks=1))), pytest.raises(DeadlinePassed):
        await store(*documents)
    assert (await lane.stats([])).documents == 0
    await store(*documents)
    assert (await lane.stats([])).documents == 1_000


class Halts:
    """A clock that, after its first look, holds up whoever asks until it is let go."""

    def __init__(self) -> None:
        self.looks = 0
        self.asked, self.released = threading.Event(), threading.Event()

    def __call__(self) -> float:
        self.looks += 1
        if self.looks > 1:
            self.asked.set()
            self.released.wait()
        return 0.0


async def cancel_midway(work: Coroutine[Any, Any, object], clock: Halts) -> None:
    with ambient(Deadline(1.0, clock)):
        task = asyncio.create_task(work)
    await asyncio.to_thread(clock.asked.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    clock.released.set()


async def test_cancelled_batch_is_stopped_and_undone(lane: KeywordLane, store) -> None:
    await cancel_midway(store(*(Document(id=str(n), content="zebra") for n in range(1_000))), Halts())
    # Writes run one after another, so this one waits for the end of the cancelled one.
    assert await lane.delete(DeleteRequest(document_ids=["missing"])) == 0
    assert (await lane.stats([])).documents == 0


async def test_cancelled_search_is_stopped_and_frees_its_connection(environment: dict[str, str]) -> None:
    lane = await open_lane(environment | {"LANEMESH_KEYWORD_READERS": "1"})
    documents = [Document(id=str(n), content="zebra and giraffe") for n in range(1_000)]
    await lane.upsert([UpsertRequest(sequence=1, document=document) for document in documents])
    clock = Halts()
    request = RetrieveRequest(query="zebra giraffe", max_results=10)
    await cancel_midway(lane.retrieve(request, RetrieveResponse()), clock)
    reply = RetrieveResponse()
    await lane.retrieve(request, reply)
    assert reply.total_found == 1_000
    assert clock.looks == 2
    await lane.close()


async def test_schema_mismatch_refuses_to_start(environment: dict[str, str]) -> None:
    await (await open_lane(environment)).close()
    connection = sqlite3.connect(_index(environment))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StartupError, match=rf"version 99.*version {VERSION}"):
        await open_lane(environment)


async def test_foreign_files_refuse_to_start(environment: dict[str, str]) -> None:
    path = _index(environment)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(StartupError, match="cannot be opened"):
        await open_lane(environment)


async def test_unwritable_home_refuses_to_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartupError, match="cannot be opened"):
        await open_lane({"LANEMESH_HOME": str(tmp_path / "file")})


def test_sqlite_without_fts5_refuses_to_start() -> None:
    class Plain(sqlite3.Connection):
        def execute(self, *_: object) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("no such function: fts5_source_id")

    connection = sqlite3.connect(":memory:", factory=Plain)
    with pytest.raises(StartupError, match="FTS5"):
        require_fts5(connection)
    connection.close()


def _index(environment: dict[str, str]) -> Path:
    return Path(environment["LANEMESH_HOME"]) / "data" / "keyword.sqlite3"


async def test_locked_index_is_unavailable(environment: dict[str, str]) -> None:
    lane = await open_lane(environment | {"LANEMESH_KEYWORD_LOCK_WAIT_MS": "0"})
    other = sqlite3.connect(Path(environment["LANEMESH_HOME"]) / "data" / "keyword.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        await lane.upsert([UpsertRequest(sequence=1, document=Document(id="a", content="x"))])
    other.close()
    await lane.close()
