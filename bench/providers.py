"""What a provider lane adds to its providers: `python -m bench.providers` writes bench/PROVIDERS.md.

The web lane in a process of its own, asked over gRPC; the providers are the simulator, in another.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter

import grpc
import uvloop
from lanemesh.v1.lane_pb2 import ATTEMPT_OUTCOME_OK, CACHE_USE_HIT, LANE_STATUS_OK, RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from bench.load import run
from bench.processes import free_base

REPORT = Path(__file__).with_name("PROVIDERS.md")
SECONDS = 2.0
START_SECONDS = 30.0
ROUNDS = 500
CONCURRENT = (1, 50, 200)
OVERHEAD_MS, HIT_MS = 5.0, 2.0
KEYLESS = ("duckduckgo", "wikipedia", "stackexchange", "mdn")


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    what: str
    figure: str
    target: str
    held: bool


@contextmanager
def lane(keyed: bool) -> Iterator[str]:
    """The simulator and the web lane; yields the lane's address. Without keys only the keyless providers are asked."""
    base = free_base(2)
    simulator = f"http://127.0.0.1:{base}"
    own = {"LANEMESH_SIMULATED_PROVIDERS": simulator}
    if not keyed:
        own = {f"LANEMESH_{name.upper()}_URL": f"{simulator}/{name}" for name in KEYLESS}
    environment = (
        os.environ
        | own
        | {
            "LANEMESH_PROVIDER_ALLOWED_ADDRESSES": "127.0.0.1/32",
            "LANEMESH_LISTEN": f"127.0.0.1:{base + 1}",
            "LANEMESH_LOG_LEVEL": "ERROR",
        }
    )
    start = partial(subprocess.Popen, env=environment, stdout=subprocess.PIPE)
    processes = [start([sys.executable, "-m", "tests.simulator", str(base)])]
    # It speaks when it listens.
    assert processes[0].stdout is not None
    processes[0].stdout.readline()
    processes.append(start([sys.executable, "-m", "services.runtime", "web"]))
    try:
        yield f"127.0.0.1:{base + 1}"
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(10)


class Client:
    """Asks new questions, so that nothing is cached, or one old one, so that everything is."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._web = LaneServiceStub(channel)
        self._numbers = count()
        self.failed = 0

    async def ask(self, query: str) -> RetrieveResponse:
        """One reply."""
        request = RetrieveRequest(query=query, max_results=10)
        return await self._web.Retrieve(request, timeout=SECONDS)

    async def fresh(self) -> RetrieveResponse:
        """A question that nobody asked before."""
        return await self.ask(f"canal lock {next(self._numbers)}")

    async def counted(self) -> None:
        """The same, counting whatever is not a full answer."""
        try:
            self.failed += (await self.fresh()).status != LANE_STATUS_OK
        except grpc.aio.AioRpcError:
            self.failed += 1


async def overhead(client: Client) -> float:
    """The median over questions of the round trip beyond the slowest provider used, milliseconds."""
    beyond = []
    for _ in range(ROUNDS):
        started = perf_counter()
        reply = await client.fresh()
        taken = (perf_counter() - started) * 1000
        beyond.append(taken - max(row.elapsed_ms for row in reply.attempts if row.outcome == ATTEMPT_OUTCOME_OK))
    return median(beyond)


async def hits(client: Client) -> float:
    """The median of a cache hit over gRPC, milliseconds."""
    times = []
    for _ in range(ROUNDS):
        started = perf_counter()
        reply = await client.ask("canal lock")
        times.append((perf_counter() - started) * 1000)
        assert reply.cache == CACHE_USE_HIT or len(times) == 1
    return median(times)


async def measure(keyed: bool) -> list[Row]:
    """The rows of one set of providers."""
    name = "one keyed provider" if keyed else f"{len(KEYLESS)} keyless providers at once"
    with lane(keyed) as address:
        async with grpc.aio.insecure_channel(address) as channel:
            await asyncio.wait_for(channel.channel_ready(), START_SECONDS)
            client = Client(channel)
            await client.ask("canal lock")
            beyond, hit = await overhead(client), await hits(client)
            rows = [
                Row(f"{name}: beyond the slowest used, p50", f"{beyond:.2f} ms", "≤ 5 ms", beyond <= OVERHEAD_MS),
                Row(f"{name}: cache hit over gRPC, p50", f"{hit:.2f} ms", "≤ 2 ms", hit <= HIT_MS),
            ]
            return rows + [await load(client, name, concurrency) for concurrency in CONCURRENT]


async def load(client: Client, name: str, concurrency: int) -> Row:
    """New questions from so many clients at once, ten each."""
    client.failed = 0
    sample = await run(client.counted, concurrency, max(concurrency * 10, 100), [])
    failed = f"{client.failed} of {len(sample.latencies)} failed"
    figure = f"{failed}; {sample.throughput:.0f}/s, p50 {sample.percentile(0.5):.0f} ms"
    return Row(f"{name}: {concurrency} at once", figure, "no failure", not client.failed)


def write(rows: Sequence[Row]) -> None:
    """The report."""
    lines = [f"| {row.what} | {row.figure} | {row.target} | {'yes' if row.held else '**no**'} |" for row in rows]
    REPORT.write_text(
        "# Provider lanes\n\n"
        "`python -m bench.providers`: the web lane in a process of its own, asked over gRPC, its providers\n"
        "simulated in another on the same machine. New questions miss the cache; a failure is anything but a\n"
        "full answer in time.\n\n"
        "| measure | figure | target | held |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"
    )


async def main() -> None:
    """Measures both sets of providers."""
    rows = await measure(keyed=True) + await measure(keyed=False)
    write(rows)
    for row in rows:
        print(f"{row.what:60} {row.figure}")


if __name__ == "__main__":
    uvloop.run(main())
