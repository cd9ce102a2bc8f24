"""A lane killed half-way through an ingestion: nothing acknowledged is lost, and a second run completes it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lanemesh.v1.index_pb2 import StatsRequest
from lanemesh.v1.index_pb2_grpc import IndexServiceStub
from lanemesh.v1.search_pb2_grpc import add_SearchServiceServicer_to_server

from client import reading, segments
from client.ingest import ingest
from client.mesh import Mesh
from gateway.service import Gateway
from services.runtime.clients import Peers, open_channel
from services.runtime.server import Service
from tests.support import NOBODY, TABLE, serving

RECORDS, SEGMENT, ACKNOWLEDGED = 100, 20, 40


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def keyword_lane(home: Path, address: str) -> AsyncIterator[tuple[int, IndexServiceStub]]:
    """The real lane as a process; yields its id and its index."""
    environment = os.environ | {"LANEMESH_HOME": str(home), "LANEMESH_LISTEN": address, "LANEMESH_LOG_LEVEL": "ERROR"}
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "services.runtime", "keyword", env=environment)
    try:
        async with open_channel(address) as channel:
            await asyncio.wait_for(channel.channel_ready(), 30)
            yield process.pid, IndexServiceStub(channel)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def front_door(lane: str) -> AsyncIterator[Mesh]:
    peers = Peers({"keyword": lane, "fusion": NOBODY}, max_reply_bytes=1 << 20)
    servicer = Gateway(TABLE.only({"keyword"}), peers)
    service = Service("lanemesh.v1.SearchService", lambda server: add_SearchServiceServicer_to_server(servicer, server))
    try:
        async with serving(service) as address, Mesh(address) as mesh:
            yield mesh
    finally:
        await peers.close()


async def documents(index: IndexServiceStub) -> int:
    return (await index.Stats(StatsRequest())).documents


async def test_a_lane_killed_half_way_loses_nothing_acknowledged_and_a_second_run_completes_it(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "SEGMENT_RECORDS", SEGMENT)
    path = tmp_path / "docs.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"d{number}", "text": f"word{number}"}) + "\n" for number in range(RECORDS))
    )
    lane = f"127.0.0.1:{free_port()}"
    acknowledged = 0

    async with front_door(lane) as mesh:
        async with keyword_lane(tmp_path, lane) as (pid, _):

            def advance(records: int, size: int) -> None:
                nonlocal acknowledged
                acknowledged += records
                if acknowledged == ACKNOWLEDGED and records:
                    os.kill(pid, signal.SIGKILL)

            first = await ingest(mesh, reading.read(reading.find([str(path)])), advance)
        assert first.error is None, first.error
        assert (first.received, first.acknowledged) == (RECORDS, ACKNOWLEDGED)
        (loss,) = first.lost
        assert (loss.lane, loss.reason, loss.place) == (
            "keyword",
            "UNAVAILABLE",
            f"{path}:{ACKNOWLEDGED + 1}-{RECORDS}",
        )

        async with keyword_lane(tmp_path, lane) as (_, index):
            assert await documents(index) >= ACKNOWLEDGED
            again = await until_reached(mesh, path)
            assert again.acknowledged == RECORDS
            assert await documents(index) == RECORDS


async def until_reached(mesh: Mesh, path: Path):
    """Runs again until the gateway's channel has found the restarted lane; the time-out bounds it."""
    async with asyncio.timeout(30):
        while True:
            summary = await ingest(mesh, reading.read(reading.find([str(path)])))
            if summary.complete:
                return summary
