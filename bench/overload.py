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
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import psutil
import uvloop
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from bench.load import cpu_seconds, run
from bench.main import QUERY
from bench.null import LANES
from bench.processes import free_base, mesh
from bench.wire import Wire, connect, paced
from services.runtime.registry import load_table

HERE = Path(__file__).parent
DEADLINE = 1.0
SEARCH = "/lanemesh.v1.SearchService/Search"
# Callers that share the load between them.
CONNECTIONS = 4
BARRED = "left alone by its breaker"
FULL = 25
QUESTION = SearchRequest(query=QUERY, include_lanes=LANES)


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the values lie; 0 without any."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


class Tally:
    """What became of a load."""

    def __init__(self) -> None:
        self.codes: Counter[str] = Counter()
        self.late: list[float] = []
        self.taken: list[float] = []
        self.whole = 0

    def ended(self, status: str, message: bytes, seconds: float) -> None:
        """One call ended."""
        self.codes[status] += 1
        if status == "OK":
            self.taken.append(seconds)
            reply = SearchResponse.FromString(message)
            self.whole += len(reply.results) >= FULL and not reply.fusion_error
        if status in ("OK", "DEADLINE_EXCEEDED"):
            self.late.append(max(0.0, seconds - DEADLINE))


async def offer(address: str, rate: float, seconds: float) -> dict[str, Any]:
    """Sends `rate` requests a second for so long over several connections; returns what became of them."""
    wires = [await connect(address, SEARCH, QUESTION.SerializeToString(), DEADLINE) for _ in range(CONNECTIONS)]
    tally, cpu = Tally(), time.process_time()
    took = await paced(wires, rate, seconds, tally.ended)
    cpu, whole = time.process_time() - cpu, tally.whole
    while any(wire.busy for wire in wires):
        await asyncio.sleep(0.01)
        for wire in wires:
            wire.expire()
    for wire in wires:
        await wire.close()
    return {
        "sent_per_second": sum(tally.codes.values()) / took,
        "goodput": whole / took,
        "cpu": cpu / took,
        "codes": dict(tally.codes),
        "p50_ms": percentile(tally.taken, 0.5) * 1000,
        "p99_ms": percentile(tally.taken, 0.99) * 1000,
        "late_p99_ms": percentile(tally.late, 0.99) * 1000,
    }


async def closed(address: str, clients: int, seconds: float) -> float:
    """Whole answers a second when so many clients each wait for their answer."""
    wires = [await connect(address, SEARCH, QUESTION.SerializeToString(), DEADLINE) for _ in range(CONNECTIONS)]
    tally, over = Tally(), time.perf_counter() + seconds
    began = time.perf_counter()

    def again(wire: Wire, status: str, message: bytes, took: float) -> None:
        tally.ended(status, message, took)
        if time.perf_counter() < over:
            wire.send(partial(again, wire))

    for number in range(clients):
        wire = wires[number % CONNECTIONS]
        wire.send(partial(again, wire))
    while any(wire.busy for wire in wires):
        await asyncio.sleep(0.05)
    elapsed = time.perf_counter() - began
    for wire in wires:
        await wire.close()
    return tally.whole / elapsed


async def from_outside(address: str, rate: float, seconds: float) -> dict[str, Any]:
    """The same, from a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.overload", *("--offer", address, str(rate), str(seconds))),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    found: dict[str, Any] = json.loads(out)
    return found


async def peak(address: str) -> float:
    """The most whole answers a second that a closed loop of clients gets out of the gateway on this machine."""
    return max([await closed(address, clients, 4.0) for clients in (8, 16, 32)])


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
        alone, before = await usual(address), await peak(address)
        first = before
        rows.append(["capacity", f"{first:.0f} answers/s in a closed loop at best; alone {alone * 1000:.1f} ms"])
        for name, rate in (("2 ×", 2 * first), ("5 ×", 5 * first), ("1000/s", 1000.0)):
            memory, cpu, began = gateway.memory_info().rss, cpu_seconds([gateway]), time.perf_counter()
            found = await from_outside(address, min(rate, 1000.0), seconds)
            busy = (cpu_seconds([gateway]) - cpu) / (time.perf_counter() - began)
            back = await recovery(address, alone)
            grown = gateway.memory_info().rss - memory
            after = await peak(address)
            rows.append(_row(name, seconds, found, (before, after), f"{busy:.0%}", grown, back))
            print(rows[-1], file=sys.stderr, flush=True)
            before = after
    return rows


def _row(
    name: str, seconds: float, found: dict[str, Any], peaks: tuple[float, float], busy: str, grown: int, back: float
) -> list[str]:
    best = max(peaks)
    codes = ", ".join(f"{code} {count}" for code, count in found["codes"].items())
    return [
        f"{name}: {found['sent_per_second']:.0f}/s offered for {seconds:.0f} s",
        f"goodput {found['goodput']:.0f}/s = {found['goodput'] / best:.0%} of the peak ({peaks[0]:.0f}/s just before, "
        f"{peaks[1]:.0f}/s just after; the higher counts); {codes}; answers p50 {found['p50_ms']:.0f} ms, "
        f"p99 {found['p99_ms']:.0f} ms; deadline missed by p99 {found['late_p99_ms']:.1f} ms; CPU of gateway {busy}, "
        f"of load {found['cpu']:.0%} of a core; memory {grown / 1e6:+.1f} MB; usual speed after {back:.2f} s",
    ]


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
    """Every lane killed, then every lane failing: how many of the planned lane calls are still sent."""
    ports = [base + load_table().lanes[lane].port for lane in LANES]
    with mesh(base) as processes:
        address = f"127.0.0.1:{base}"
        await _ready(address)
        for lane in processes["fused"][1:-2]:
            lane.kill()
            lane.wait()
        killed = await _asked(address)
        async with failing(ports) as arrived:
            before = await _asked(address)
    return [
        ["outage: every lane killed", killed],
        ["outage: every lane fails at once", f"{before}; {arrived['calls']} calls arrived, retries included"],
    ]


@asynccontextmanager
async def failing(ports: list[int]) -> AsyncIterator[Counter[str]]:
    """Lanes on these ports that answer UNAVAILABLE; yields the count of the calls that reach them."""
    arrived: Counter[str] = Counter()

    async def fail(_request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        arrived["calls"] += 1
        await context.abort(grpc.StatusCode.UNAVAILABLE, "failing")

    handler = grpc.method_handlers_generic_handler(
        "lanemesh.v1.LaneService", {"Retrieve": grpc.unary_unary_rpc_method_handler(fail)}
    )
    servers = []
    for port in ports:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((handler,))
        server.add_insecure_port(f"127.0.0.1:{port}")
        await server.start()
        servers.append(server)
    yield arrived
    for server in servers:
        await server.stop(0.0)


async def _asked(address: str) -> str:
    reasons: Counter[str] = Counter()
    async with grpc.aio.insecure_channel(address) as channel:
        search = SearchServiceStub(channel).Search
        for _ in range(500):
            reply = await search(QUESTION, timeout=DEADLINE)
            rows = [row for row in reply.ledger if row.lane in LANES]
            reasons.update(row.reason if row.budget_ms else BARRED for row in rows)
    planned = sum(reasons.values())
    sent = planned - reasons[BARRED]
    outcomes = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
    return f"{sent} lane calls sent of {planned} planned in 500 queries: {sent / planned:.3f} ×; {outcomes}"


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
