"""`python -m bench.overload`: what the gateway keeps when more is asked of it than it can do, and when lanes are lost.

Null lanes, our gateway and fusion; the load comes from a process of its own in an open loop: requests are sent when
they are due, whether or not earlier ones were answered. Writes bench/OVERLOAD.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
import psutil
import uvloop
from lanemesh.v1.search_pb2 import SearchRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from bench.load import cpu_seconds, run
from bench.main import QUERY
from bench.null import LANES
from bench.processes import free_base, mesh

HERE = Path(__file__).parent
DEADLINE = 1.0
FULL = 25
QUESTION = SearchRequest(query=QUERY, include_lanes=LANES)


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the values lie; 0 without any."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


async def offer(address: str, rate: float, seconds: float) -> dict[str, Any]:
    """Sends `rate` requests a second for so long; returns what became of them."""
    channel = grpc.aio.insecure_channel(address)
    await channel.channel_ready()
    search = SearchServiceStub(channel).Search
    codes: Counter[str] = Counter()
    late: list[float] = []
    taken: list[float] = []
    whole = 0

    async def one() -> None:
        nonlocal whole
        started = time.perf_counter()
        try:
            reply = await search(QUESTION, timeout=DEADLINE)
            codes["OK"] += 1
            whole += len(reply.results) >= FULL and not reply.fusion_error
            taken.append(time.perf_counter() - started)
        except grpc.aio.AioRpcError as error:
            codes[error.code().name] += 1
            if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                return
        late.append(max(0.0, time.perf_counter() - started - DEADLINE))

    tasks: set[asyncio.Task[None]] = set()
    began = time.perf_counter()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
        task = asyncio.create_task(one())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    sent = time.perf_counter() - began
    await asyncio.gather(*tasks)
    await channel.close()
    return {
        "offered": rate,
        "sent_per_second": rate * seconds / sent,
        "goodput": whole / sent,
        "cpu": time.process_time() / sent,
        "codes": dict(codes),
        "p50_ms": percentile(taken, 0.5) * 1000,
        "p99_ms": percentile(taken, 0.99) * 1000,
        "late_p99_ms": percentile(late, 0.99) * 1000,
    }


async def from_outside(address: str, rate: float, seconds: float) -> dict[str, Any]:
    """The same, from a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.overload", "--offer", address, str(rate), str(seconds)),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    found: dict[str, Any] = json.loads(out)
    return found


async def peak(address: str) -> float:
    """Answers a second when sixteen clients wait for each other's answers: what the gateway can do on this machine."""
    async with grpc.aio.insecure_channel(address) as channel:
        search = SearchServiceStub(channel).Search

        async def ask() -> None:
            await search(QUESTION, timeout=5.0)

        await run(ask, 16, 500, [])
        return (await run(ask, 16, 2000, [])).throughput


async def recovery(address: str, usual: float) -> float:
    """Seconds after the end of an overload until an answer takes no more than twice the usual time."""
    began = time.perf_counter()
    async with grpc.aio.insecure_channel(address) as channel:
        search = SearchServiceStub(channel).Search
        while True:
            started = time.perf_counter()
            try:
                await search(QUESTION, timeout=5.0)
            except grpc.aio.AioRpcError:
                continue
            if time.perf_counter() - started <= 2 * usual:
                return time.perf_counter() - began


async def usual(address: str) -> float:
    """The median time of one answer alone, in seconds."""
    async with grpc.aio.insecure_channel(address) as channel:
        search = SearchServiceStub(channel).Search

        async def ask() -> None:
            await search(QUESTION, timeout=5.0)

        return (await run(ask, 1, 200, [])).percentile(0.5) / 1000


async def overload(seconds: float, base: int) -> list[list[str]]:
    """Twice, five times the capacity, and a thousand a second."""
    rows = []
    with mesh(base) as processes:
        address = f"127.0.0.1:{base}"
        gateway = processes["fused"][-2]
        await _ready(address)
        alone, best = await usual(address), await peak(address)
        rows.append(["capacity", f"{best:.0f} answers/s with 16 clients; alone {alone * 1000:.1f} ms"])
        for name, rate in (("2 ×", 2 * best), ("5 ×", 5 * best), ("1000/s", 1000.0)):
            before, cpu, began = gateway.memory_info().rss, cpu_seconds([gateway]), time.perf_counter()
            found = await from_outside(address, min(rate, 1000.0), seconds)
            busy = (cpu_seconds([gateway]) - cpu) / (time.perf_counter() - began)
            back = await recovery(address, alone)
            again = await peak(address)
            rows.append(
                [
                    f"{name}: {found['sent_per_second']:.0f}/s offered for {seconds:.0f} s",
                    f"goodput {found['goodput']:.0f}/s = {found['goodput'] / best:.0%} of the peak; {found['codes']}; "
                    f"answers p50 {found['p50_ms']:.0f} ms, p99 {found['p99_ms']:.0f} ms; deadline missed by p99 "
                    f"{found['late_p99_ms']:.1f} ms; CPU of gateway {busy:.0%}, load {found['cpu']:.0%}; memory "
                    f"{(gateway.memory_info().rss - before) / 1e6:+.1f} MB; usual speed after {back:.2f} s, "
                    f"peak then {again / best:.0%}",
                ]
            )
    return rows


async def refusals(base: int, count: int = 3000) -> list[list[str]]:
    """The gateway's CPU for one refusal: by its own door, and by gRPC before the handler."""
    rows = []
    for name, extra in (("by the door", {}), ("by gRPC's own limit", {"LANEMESH_MAX_CONCURRENT": "1"})):
        with mesh(base, **extra) as processes:
            address = f"127.0.0.1:{base}"
            gateway = processes["fused"][-2]
            await _ready(address)
            found = await _refused(address, gateway, count)
            rows.append([f"one refusal {name}", found])
    return rows


async def _refused(address: str, gateway: psutil.Process, count: int) -> str:
    async with grpc.aio.insecure_channel(address) as channel:
        search = SearchServiceStub(channel).Search
        codes: Counter[str] = Counter()

        async def one() -> None:
            try:
                await search(QUESTION, timeout=0.2)
                codes["OK"] += 1
            except grpc.aio.AioRpcError as error:
                codes[error.code().name] += 1

        cpu = cpu_seconds([gateway])
        for _ in range(count // 300):
            await asyncio.gather(*(one() for _ in range(300)))
        spent = cpu_seconds([gateway]) - cpu
        alone = codes["OK"]
        return f"{codes}; {spent * 1e6 / count:.0f} µs of the gateway's CPU per request, {alone} of them answered"


async def outage(base: int) -> list[list[str]]:
    """Every lane killed: how many of the planned lane calls are still sent."""
    with mesh(base) as processes:
        address = f"127.0.0.1:{base}"
        await _ready(address)
        for lane in processes["fused"][1:-2]:
            lane.kill()
        before = await _asked(address)
    return [["outage: every lane killed", before]]


async def _asked(address: str) -> str:
    reasons: Counter[str] = Counter()
    async with grpc.aio.insecure_channel(address) as channel:
        search = SearchServiceStub(channel).Search
        for _ in range(500):
            reply = await search(QUESTION, timeout=DEADLINE)
            rows = [row for row in reply.ledger if row.lane in LANES]
            reasons.update(row.reason if row.budget_ms else "left alone by its breaker" for row in rows)
    asked = sum(count for reason, count in reasons.items() if reason != "left alone by its breaker")
    whole = sum(reasons.values())
    return f"of {whole} lane calls planned in 500 queries {asked} were sent ({asked / whole:.1%}); {dict(reasons)}"


async def _ready(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        search = SearchServiceStub(channel).Search
        for _ in range(600):
            try:
                reply = await search(QUESTION, timeout=5.0)
                if len(reply.results) >= FULL and not reply.fusion_error:
                    return
            except grpc.aio.AioRpcError:
                pass
            await asyncio.sleep(0.1)
    raise SystemExit("overload: the mesh does not answer")


async def main() -> int:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(prog="bench.overload", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="length of each overload (default 60)")
    parser.add_argument("--offer", nargs=3, metavar=("ADDRESS", "RATE", "SECONDS"), help="only send this load")
    parser.add_argument("--port-base", type=int, help="first of 24 ports to use (default: any that are free)")
    arguments = parser.parse_args()
    if arguments.offer:
        address, rate, seconds = arguments.offer
        print(json.dumps(await offer(address, float(rate), float(seconds))))
        return 0
    base = arguments.port_base or free_base(24)
    found = [*await overload(arguments.seconds, base), *await refusals(base), *await outage(base)]
    lines = ["# Overload", "", "| what | measured |", "|---|---|", *(f"| {what} | {value} |" for what, value in found)]
    (HERE / "OVERLOAD.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
