"""One index lane twice over the same data: as a process asked over gRPC, and opened inside this process."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import psutil
from lanemesh.v1.index_pb2 import UpsertRequest
from lanemesh.v1.index_pb2_grpc import IndexServiceStub
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from bench.processes import free_base
from services.runtime.__main__ import open_lane

if TYPE_CHECKING:
    from lanemesh.v1.index_pb2_grpc import IndexServiceAsyncStub
    from lanemesh.v1.lane_pb2_grpc import LaneServiceAsyncStub

MEBIBYTE = 1024 * 1024
START_SECONDS = 60.0
ANSWER_SECONDS = 5.0
RESULTS = 10
DATA = "data"


class Served:
    """A lane's own process and how to reach it."""

    def __init__(self, process: psutil.Process, channel: grpc.aio.Channel) -> None:
        self.lane: LaneServiceAsyncStub = LaneServiceStub(channel)
        self.index: IndexServiceAsyncStub = IndexServiceStub(channel)
        self._process = process

    @property
    def resident(self) -> float:
        """Resident MiB."""
        return self._process.memory_info().rss / MEBIBYTE


@asynccontextmanager
async def served(lane: str, home: Path) -> AsyncIterator[Served]:
    """The lane as a process over the data of this home."""
    address = f"127.0.0.1:{free_base(1)}"
    settings = {"LANEMESH_HOME": str(home), "LANEMESH_LISTEN": address, "LANEMESH_LOG_LEVEL": "WARNING"}
    with _process(lane, settings) as process:
        async with grpc.aio.insecure_channel(address) as channel:
            await asyncio.wait_for(channel.channel_ready(), START_SECONDS)
            yield Served(psutil.Process(process.pid), channel)


@contextmanager
def _process(lane: str, settings: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", "services.runtime", lane], env=os.environ | settings)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(10)


async def paired(lane: str, home: Path, copy: Path, questions: Sequence[str]) -> tuple[list[float], list[float]]:
    """Milliseconds over gRPC and in process, question by question in turn, over two copies of the same index."""
    shutil.copytree(home / DATA, copy / DATA)
    own = await open_lane(lane, {"LANEMESH_HOME": str(copy)})
    remote: list[float] = []
    local: list[float] = []
    try:
        async with served(lane, home) as other:
            for number, question in enumerate(questions):
                request = RetrieveRequest(query=question, max_results=RESULTS)
                ways: list[tuple[list[float], Callable[[], Awaitable[Any]]]] = [
                    (remote, partial(other.lane.Retrieve, request, timeout=ANSWER_SECONDS)),
                    (local, partial(own.retrieve, request, RetrieveResponse())),
                ]
                for times, ask in ways if number % 2 else reversed(ways):
                    times.append(await timed(ask))
    finally:
        await own.close()
    return remote, local


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    """The milliseconds one call took."""
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1_000


async def stored_per_second(lane: str, home: Path, records: Sequence[UpsertRequest]) -> float:
    """Records a second into an empty lane, as one stream over gRPC, until the lane says that all are on disk."""
    async with served(lane, home) as other:
        started = time.perf_counter()
        reply = await other.index.Upsert(iter(records))
        seconds = time.perf_counter() - started
    if reply.stored != len(records):
        raise SystemExit(f"bench: the {lane} lane stored {reply.stored} of {len(records)}: {reply.failures[:3]}")
    return len(records) / seconds
