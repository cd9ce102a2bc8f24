"""`python -m bench.tracing`: what tracing costs. CPU per answer over every process of a mesh, as ratios to tracing off.

Two meshes of the same parts stand side by side: real lane servers that answer at once, gateway and fusion; one exports
spans to a collector that throws them away, the other does not. They are asked in turn, each request carrying the
decision whether it is sampled. Writes bench/TRACING.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import psutil
import uvloop
from lanemesh.v1.lane_pb2 import MODE_RESEARCH, RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2 import SearchRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.load import Sample, cpu_seconds, run
from bench.main import QUERY
from bench.null import LANES, reply_of
from bench.processes import free_base
from services.runtime import process
from services.runtime.__main__ import services_of
from services.runtime.clients import default_listen
from services.runtime.exporter import DELAY
from services.runtime.registry import Table
from services.runtime.server import Server, ServerSettings
from services.runtime.settings import load
from services.runtime.trace import TRACEPARENT, fresh

HERE = Path(__file__).parent
# Share of the requests that are sampled, and the most their CPU per answer may be of that without tracing.
VARIANTS: dict[str, tuple[float, float | None]] = {
    "off": (0.0, None),
    "unsampled": (0.0, 1.05),
    "1 % sampled": (0.01, 1.15),
    "100 % sampled": (1.0, 1.7),
}
OFF = "off"
CLIENTS = 8
# Spans leave a moment after their call: their cost belongs to the run that made them.
SETTLE = DELAY + 0.5
# Of the collector, so that it is known to have taken what was sent.
COUNT = "/lanemesh.Sink/Count"
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


class Canned:
    """A lane that answers the same to everything."""

    def __init__(self, name: str) -> None:
        self._reply = reply_of(name)

    async def retrieve(self, _request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """The canned reply."""
        reply.CopyFrom(self._reply)

    async def check(self) -> None:
        """Always ready."""

    async def close(self) -> None:
        """Nothing to give back."""


def serve_lane(name: str) -> None:
    """Runs one lane as its own process would."""

    async def build(table: Table, environment: process.Environment) -> tuple[Server, Callable[[], Awaitable[None]]]:
        default = {"LANEMESH_LISTEN": default_listen(environment, table.lanes[name].port)}
        lane = Canned(name)
        return Server(
            load(ServerSettings, default | dict(environment)), services_of(name, lane, table), lane.check
        ), lane.close

    process.run(name, build)


async def serve_sink(port: int) -> None:
    """Takes batches of spans and keeps only their number."""
    taken = 0

    async def export(request: bytes, _context: Any) -> bytes:
        nonlocal taken
        batch = ExportTraceServiceRequest.FromString(request)
        taken += sum(len(scope.spans) for resource in batch.resource_spans for scope in resource.scope_spans)
        return b""

    async def count(_request: bytes, _context: Any) -> bytes:
        return str(taken).encode()

    server = grpc.aio.server()
    for path, handler in ((EXPORT, export), (COUNT, count)):
        _, service, method = path.split("/")
        handlers: dict[str, Any] = {method: grpc.unary_unary_rpc_method_handler(handler)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


@contextmanager
def started(base: int, endpoint: str) -> Iterator[list[psutil.Process]]:
    """One whole mesh on the ports from `base`; yields its processes."""
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        environment = os.environ | {
            "LANEMESH_HOME": home,
            "LANEMESH_PORT_BASE": str(base),
            "LANEMESH_LANES": ",".join(LANES),
            "LANEMESH_LOG_LEVEL": "WARNING",
            "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        }
        commands: list[tuple[str, ...]] = [("bench.tracing", "--lane", lane) for lane in LANES]
        commands += [("gateway",), ("fusion_service",)]
        yield [_start(stack, environment, *command) for command in commands]


def _start(stack: ExitStack, environment: dict[str, str], *arguments: str) -> psutil.Process:
    made = subprocess.Popen([sys.executable, "-m", *arguments], env=environment)
    stack.callback(made.wait, 20)
    stack.callback(made.terminate)
    return psutil.Process(made.pid)


async def asker(address: str, share: float) -> Callable[[], Awaitable[None]]:
    """How to ask a gateway with so many of the requests sampled; it has answered once when this returns."""
    search = SearchServiceStub(grpc.aio.insecure_channel(address)).Search
    request = SearchRequest(query=QUERY, mode=MODE_RESEARCH, include_lanes=LANES)
    draw = random.Random(1)

    async def ask() -> None:
        header = fresh(draw.random() < share).header()
        reply = await search(request, timeout=5.0, metadata=((TRACEPARENT, header),))
        assert len(reply.results) >= 25, reply.ledger

    for _ in range(300):
        try:
            await ask()
            return ask
        except (grpc.aio.AioRpcError, AssertionError):
            await asyncio.sleep(0.1)
    raise SystemExit("tracing: the mesh does not answer")


async def cost(ask: Callable[[], Awaitable[None]], requests: int, processes: list[psutil.Process]) -> Sample:
    """One run, its spans delivered, the CPU being that of the mesh alone."""
    before = cpu_seconds(processes)
    sample = await run(ask, CLIENTS, requests, processes)
    await asyncio.sleep(SETTLE)
    return Sample(CLIENTS, sample.latencies, sample.throughput, (cpu_seconds(processes) - before) / requests)


async def measure(
    bases: dict[bool, int], processes: dict[bool, list[psutil.Process]], sink: str, rounds: int, requests: int
) -> tuple[list[dict[str, Sample]], float]:
    """Rounds of every variant after the other, and the spans per sampled answer."""
    asks = {name: await asker(f"127.0.0.1:{bases[name != OFF]}", share) for name, (share, _) in VARIANTS.items()}
    for name, ask in asks.items():
        await cost(ask, 200, processes[name != OFF])
    found: list[dict[str, Sample]] = []
    spans = 0.0
    async with grpc.aio.insecure_channel(sink) as channel:
        count: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(COUNT)
        for number in range(rounds):
            order = list(asks) if number % 2 == 0 else list(reversed(asks))
            row: dict[str, Sample] = {}
            for name in order:
                taken = int(await count(b""))
                row[name] = await cost(asks[name], requests, processes[name != OFF])
                if VARIANTS[name][0] == 1.0:
                    spans += (int(await count(b"")) - taken) / requests / rounds
            found.append(row)
            print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found, spans


def page(rounds: Sequence[dict[str, Sample]], spans: float) -> tuple[str, bool]:
    """The table, and whether every target was met."""
    lines = [
        "# Tracing",
        "",
        f"`python -m bench.tracing`: medians of {len(rounds)} interleaved rounds at concurrency {CLIENTS}; ratios are",
        "paired within each round. CPU is that of gateway, seven lane servers and fusion together, until their spans",
        f"were delivered. A sampled answer has {spans:.1f} spans.",
        "",
        "| tracing | CPU ms per answer | ratio to off | target | met | p50 ms | answers/s |",
        "|---|---|---|---|---|---|---|",
    ]
    held = True
    for name, (_, most) in VARIANTS.items():
        samples = [row[name] for row in rounds]
        ratio = statistics.median(row[name].cpu / row[OFF].cpu for row in rounds)
        met = most is None or ratio <= most
        held &= met
        target = "" if most is None else f"≤ {most}"
        figures = (
            f"{statistics.median(sample.cpu for sample in samples) * 1000:.2f} | {ratio:.3f} | {target} | "
            f"{'' if most is None else 'yes' if met else 'no'} | "
            f"{statistics.median(sample.percentile(0.5) for sample in samples):.2f} | "
            f"{statistics.median(sample.throughput for sample in samples):.0f}"
        )
        lines.append(f"| {name} | {figures} |")
    return "\n".join(lines) + "\n", held


def main() -> int:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(prog="bench.tracing", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default 9)")
    parser.add_argument("--requests", type=int, default=500, help="requests per variant and round (default 500)")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    parser.add_argument("--lane", help=argparse.SUPPRESS)
    parser.add_argument("--sink", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lane:
        serve_lane(options.lane)
        return 0
    if options.sink:
        uvloop.run(serve_sink(options.sink))
        return 0
    base = free_base(50)
    bases = {False: base, True: base + 24}
    sink = f"127.0.0.1:{base + 48}"
    with ExitStack() as stack:
        _start(stack, dict(os.environ), "bench.tracing", "--sink", sink.partition(":")[2])
        processes = {on: stack.enter_context(started(bases[on], f"http://{sink}" if on else "")) for on in bases}
        rounds, spans = uvloop.run(measure(bases, processes, sink, options.rounds, options.requests))
    table, held = page(rounds, spans)
    (HERE / "TRACING.md").write_text(table)
    print(table)
    return int(options.check and not held)


if __name__ == "__main__":
    sys.exit(main())
