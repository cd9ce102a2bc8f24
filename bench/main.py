"""`make bench`: our gateway beside bare grpc.aio, interleaved in one run, reported as ratios.

Variants, all over the same seven null lanes:
  fan-out   a bare client asks the seven lanes itself
  null      the same behind a null gateway that passes replies through
  gateway   our gateway, fusion switched off
  fused     our gateway with the fusion service
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import grpc
import psutil
import uvloop
from lanemesh.v1.lane_pb2 import MODE_RESEARCH, RetrieveRequest
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub
from lanemesh.v1.search_pb2 import SearchRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from bench.load import in_turn, run
from bench.null import DOCUMENTS, LANES
from bench.processes import free_base, mesh
from bench.report import CONCURRENCY, Round, page, report, verdicts
from services.runtime.registry import load_table

HERE = Path(__file__).parent
QUERY = "how does the payment adapter retry a failed order request"
VARIANTS = ("fan-out", "null", "gateway", "fused")


async def asks(base: int) -> dict[str, Callable[[], Awaitable[None]]]:
    """How to ask each variant once; each is answered before this returns."""
    table = load_table()
    lanes = [
        LaneServiceStub(grpc.aio.insecure_channel(f"127.0.0.1:{base + table.lanes[name].port}")).Retrieve
        for name in LANES
    ]
    question = RetrieveRequest(query=QUERY, max_results=DOCUMENTS)

    async def fan_out() -> None:
        replies = await asyncio.gather(*(lane(question, timeout=2.0) for lane in lanes))
        assert sum(len(reply.evidence) for reply in replies) == DOCUMENTS * len(LANES)

    def through(port: int, results: int | None, at_least: int) -> Callable[[], Awaitable[None]]:
        search = SearchServiceStub(grpc.aio.insecure_channel(f"127.0.0.1:{port}")).Search
        # The widest budgets: at concurrency 64 a lane's time in the queue must not count as its time-out.
        request = SearchRequest(query=QUERY, max_results=results, mode=MODE_RESEARCH, include_lanes=LANES)

        async def ask() -> None:
            reply = await search(request, timeout=5.0)
            assert len(reply.results) >= at_least, reply.ledger

        return ask

    found = {
        "fan-out": fan_out,
        "null": through(base + 20, None, DOCUMENTS * len(LANES)),
        # The same volume as the null gateway passes through, as far as the contract allows.
        "gateway": through(base + 21, 100, 100),
        "fused": through(base, None, 25),
    }
    for ask in found.values():
        await _until_answered(ask)
    return found


async def _until_answered(ask: Callable[[], Awaitable[None]]) -> None:
    for _ in range(200):
        try:
            await ask()
            return
        except (grpc.aio.AioRpcError, AssertionError):
            await asyncio.sleep(0.1)
    await ask()


async def measure(base: int, processes: dict[str, list[psutil.Process]], rounds: int, requests: int) -> list[Round]:
    """Rounds of every variant after the other, so that what disturbs the machine disturbs all."""
    ask = await asks(base)
    for variant in VARIANTS:
        await run(ask[variant], 8, 200, processes[variant])
    samples: list[Round] = []
    for number in range(rounds):
        row: Round = {}
        for concurrency in CONCURRENCY:
            for variant in VARIANTS if number % 2 == 0 else reversed(VARIANTS):
                row[variant, concurrency] = await run(ask[variant], concurrency, requests, processes[variant])
        # One client at a time pairs the variants request by request; the runs above keep the CPU time apart.
        for variant, latencies in (await in_turn(ask, requests)).items():
            row[variant, 1] = replace(row[variant, 1], latencies=latencies, throughput=requests / sum(latencies))
        samples.append(row)
        print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return samples


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, prints the table and writes bench/results.json and bench/RESULTS.md."""
    parser = argparse.ArgumentParser(prog="lanemesh bench", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default 9)")
    parser.add_argument("--requests", type=int, default=300, help="requests per variant, round and concurrency")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    options = parser.parse_args(argv)
    base = free_base(24)
    with mesh(base) as processes:
        samples = uvloop.run(measure(base, processes, options.rounds, options.requests))
        memory = {
            "gateway": processes["fused"][-2].memory_info().rss / 1e6,
            "fusion": processes["fused"][-1].memory_info().rss / 1e6,
        }
    result = report(samples, memory)
    (HERE / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    (HERE / "RESULTS.md").write_text(page(result))
    print(json.dumps(result) if options.json else page(result))
    return int(options.check and not all(met for *_, met in verdicts(result)))


if __name__ == "__main__":
    sys.exit(main())
