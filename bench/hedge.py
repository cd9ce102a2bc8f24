"""`python -m bench.hedge`: a lane's p99 with and without backup calls when one of two replicas stalls some calls.

Both gateways run over the same two replicas and are asked in turn. Writes bench/HEDGE.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import uvloop
import yaml
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2 import SearchRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from bench.null import reply_of
from bench.overload import percentile
from services.runtime.__main__ import services_of
from services.runtime.registry import load_table
from services.runtime.server import Server, ServerSettings

if TYPE_CHECKING:
    from lanemesh.v1.search_pb2_grpc import SearchServiceAsyncStub

HERE = Path(__file__).parent
LANE = "vector"
STALL_SHARE = 0.05
STALL_SECONDS = 0.5
VARIANTS = {"without backups": 0.0, "with backups": 0.05}


class Replica:
    """A lane that answers the same to everything, and stalls a share of its calls."""

    def __init__(self, stalls: float) -> None:
        self.asked = 0
        self._stalls = stalls
        self._draw = random.Random(7)
        self._reply = reply_of(LANE)

    async def retrieve(self, _request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """The canned reply, now or after the stall."""
        self.asked += 1
        if self._draw.random() < self._stalls:
            await asyncio.sleep(STALL_SECONDS)
        reply.CopyFrom(self._reply)

    async def check(self) -> None:
        """Always ready."""

    async def close(self) -> None:
        """Nothing to give back."""


@asynccontextmanager
async def serving(replica: Replica) -> AsyncIterator[str]:
    """The replica on a free port; yields the address."""
    server = Server(ServerSettings(grace_seconds=0.1), services_of(LANE, replica, load_table()), replica.check)
    port = await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop()


@asynccontextmanager
async def gateway(addresses: list[str], share: float, port: int, home: str) -> AsyncIterator[SearchServiceAsyncStub]:
    """A gateway over the replicas that may send this share of backups; lanes and nothing else."""
    table = yaml.safe_load((HERE.parent / "helm" / "values.yaml").read_text(encoding="utf-8"))
    table["protection"]["hedge"]["share"] = share
    config = Path(home) / f"{port}.yaml"
    config.write_text(yaml.safe_dump(table), encoding="utf-8")
    environment = os.environ | {
        "LANEMESH_CONFIG": str(config),
        "LANEMESH_LISTEN": f"127.0.0.1:{port}",
        "LANEMESH_LANES": LANE,
        "LANEMESH_PEER_ADDRESS": f"ipv4:{','.join(addresses)}",
        "LANEMESH_FUSION_ENABLED": "false",
        "LANEMESH_LOG_LEVEL": "WARNING",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "gateway", env=environment)
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            await asyncio.wait_for(channel.channel_ready(), 30)
            yield SearchServiceStub(channel)
    finally:
        process.terminate()
        await process.wait()


async def measure(search: SearchServiceAsyncStub, replicas: list[Replica], calls: int) -> tuple[list[float], int, int]:
    """The lane's times in milliseconds, the calls its replicas got, and the answers that were not OK."""
    times: list[float] = []
    lost = 0
    before = sum(replica.asked for replica in replicas)
    for _ in range(calls):
        reply = await search.Search(SearchRequest(query="why", include_lanes=[LANE]), timeout=5.0)
        (row,) = [row for row in reply.ledger if row.lane == LANE]
        times.append(row.elapsed_ms)
        lost += not row.returned
    return times, sum(replica.asked for replica in replicas) - before, lost


async def main() -> int:
    """Measures both in turn and writes the table."""
    parser = argparse.ArgumentParser(prog="bench.hedge", description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=4000, help="calls of each variant (default 4000)")
    parser.add_argument("--port-base", type=int, default=43_600, help="first of two ports for the gateways")
    arguments = parser.parse_args()
    replicas = [Replica(STALL_SHARE), Replica(0.0)]
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    sent, lost = dict.fromkeys(VARIANTS, 0), dict.fromkeys(VARIANTS, 0)
    async with AsyncExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        addresses = [await stack.enter_async_context(serving(replica)) for replica in replicas]
        doors = {
            name: await stack.enter_async_context(gateway(addresses, share, arguments.port_base + number, home))
            for number, (name, share) in enumerate(VARIANTS.items())
        }
        for door in doors.values():
            await measure(door, replicas, 200)
        began = time.perf_counter()
        for _ in range(10):
            for name, door in doors.items():
                found, asked, missed = await measure(door, replicas, arguments.calls // 10)
                times[name] += found
                sent[name] += asked
                lost[name] += missed
        seconds = time.perf_counter() - began
    lines = [
        "# Backup calls",
        "",
        f"One of two replicas stalls {STALL_SHARE:.0%} of its calls for {STALL_SECONDS * 1000:.0f} ms; "
        f"{arguments.calls} calls of each variant in turns, {seconds:.0f} s.",
        "",
        "| variant | p50 ms | p95 ms | p99 ms | p99.9 ms | extra calls | lost |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in times.items():
        quantiles = " | ".join(f"{percentile(found, share):.1f}" for share in (0.5, 0.95, 0.99, 0.999))
        extra = sent[name] / len(found) - 1
        lines.append(f"| {name} | {quantiles} | {extra:.1%} | {lost[name]} |")
    ratio = percentile(times["without backups"], 0.99) / percentile(times["with backups"], 0.99)
    lines += ["", f"p99 falls by a factor of {ratio:.1f}."]
    (HERE / "HEDGE.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
