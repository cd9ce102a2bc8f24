"""`python -m bench.envoy`: what Envoy costs around the gateway, and what it saves when a replica is killed.

Cost: our gateway with fusion over seven null lanes, called directly and through Envoy (ingress, and egress to every
lane and to fusion), both in one run and in turn. Loss: one of two replicas is killed by SIGKILL under load, once of a
lane and once of the gateway; a question counts as lost when it fails or lacks a lane. Writes bench/ENVOY.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import grpc
import psutil
import uvloop
from lanemesh.v1.lane_pb2 import LANE_STATUS_OK, MODE_RESEARCH
from lanemesh.v1.search_pb2 import SearchRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from bench.load import Sample, in_turn, run
from bench.main import QUERY
from bench.null import LANES
from bench.processes import free_base
from bench.report import CONCURRENCY
from services.runtime import envoy
from services.runtime.registry import load_table

HERE = Path(__file__).parent
# Ports of the gateway without Envoy and of the second replicas; the rest is as in a mesh on one machine.
DIRECT, SECOND_GATEWAY, SECOND_LANE = 20, 21, 22
KILLED_LANE = "vector"
VARIANTS = ("direct", "envoy")
P50_MOST, CPU_MOST, LOST_MOST = 1.5, 1.35, 0.001

Round = dict[tuple[str, int], Sample]
Ask = Callable[[], Awaitable[None]]


class Parts:
    """The processes of the bench by name."""

    def __init__(self, base: int, folder: Path, *, doubled: bool) -> None:
        self.base = base
        # Whether one lane and the gateway behind Envoy have a second replica.
        self.doubled = doubled
        self.ports = envoy.Ports.beside(base)
        self.folder = folder
        self.table = load_table()
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str], **settings: str) -> None:
        """Starts one and remembers it."""
        environment = os.environ | {
            "LANEMESH_PORT_BASE": str(self.base),
            "LANEMESH_LANES": ",".join(LANES),
            "LANEMESH_TRACE_SAMPLE_RATE": "0",
            "LANEMESH_LOG_LEVEL": "WARNING",
        }
        log = (self.folder / f"{name}.log").open("wb")
        with log:
            self.running[name] = subprocess.Popen(command, env=environment | settings, stdout=log, stderr=log)

    def start_all(self) -> None:
        """Lanes and fusion, a gateway without Envoy and one behind it, Envoy; and the second replicas."""
        for name in LANES:
            self._python(name, "bench.null", "lane", name, str(self.base + self.table.lanes[name].port))
        self._python("fusion", "fusion_service", LANEMESH_LISTEN=self.at(self.table.fusion.port))
        self._python("direct", "gateway", LANEMESH_LISTEN=self.at(DIRECT))
        behind = {"LANEMESH_PORT_BASE": str(self.ports.block)}
        self._python("behind", "gateway", LANEMESH_LISTEN=f"127.0.0.1:{self.ports.block}", **behind)
        if self.doubled:
            self._python("second lane", "bench.null", "lane", KILLED_LANE, str(self.base + SECOND_LANE))
            self._python("second gateway", "gateway", LANEMESH_LISTEN=self.at(SECOND_GATEWAY), **behind)
        config = envoy.render(self._values(), self.folder)
        self.start("envoy", envoy.command(config))

    def at(self, offset: int) -> str:
        """An address of this mesh."""
        return f"127.0.0.1:{self.base + offset}"

    def pick(self, *names: str) -> list[psutil.Process]:
        """This process and those."""
        return [psutil.Process(), *(psutil.Process(self.running[name].pid) for name in names)]

    def stop(self) -> None:
        """Ends what is still there."""
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.wait(20)

    def _python(self, name: str, *module: str, **settings: str) -> None:
        self.start(name, [sys.executable, "-m", *module], **settings)

    def _values(self) -> Mapping[str, object]:
        own = {
            "config_folder": str(self.folder),
            "admin_socket": str(self.folder / "admin.sock"),
            "metrics": {"address": "127.0.0.1", "port": self.ports.metrics},
            "peers": {"address": "127.0.0.1:{port}", "port_base": self.base},
            "endpoints": {
                KILLED_LANE: [self.at(self.table.lanes[KILLED_LANE].port), *([self.at(SECOND_LANE)] * self.doubled)],
                "gateway": [f"127.0.0.1:{self.ports.block}", *([self.at(SECOND_GATEWAY)] * self.doubled)],
            },
            "ingress": {"address": "127.0.0.1", "port": self.base, "rate": {"per_second": 100_000, "burst": 100_000}},
            "egress": {"port_base": self.ports.block},
        }
        return {"envoy": own, "lanes": {name: {"enabled": name in LANES} for name in self.table.lanes}}


@contextmanager
def parts(*, doubled: bool) -> Iterator[Parts]:
    """Everything, running."""
    with tempfile.TemporaryDirectory() as folder:
        # As far as the block of Envoy reaches.
        all_parts = Parts(free_base(60), Path(folder), doubled=doubled)
        try:
            all_parts.start_all()
            yield all_parts
        finally:
            all_parts.stop()


def asking(address: str) -> tuple[Ask, grpc.aio.Channel]:
    """How to ask once at an address; fails unless every lane answered and fusion chose."""
    channel = grpc.aio.insecure_channel(address, options=[("grpc.enable_retries", 0)])
    search = SearchServiceStub(channel).Search
    request = SearchRequest(query=QUERY, mode=MODE_RESEARCH, include_lanes=LANES)

    async def ask() -> None:
        reply = await search(request, timeout=5.0)
        answered = sum(row.status == LANE_STATUS_OK for row in reply.ledger)
        if answered < len(LANES) or not reply.answer:
            raise LookupError(f"{answered} of {len(LANES)} lanes answered")

    return ask, channel


async def until_answered(ask: Ask, times: int = 20) -> None:
    """Waits until so many questions in a row are answered."""
    streak = 0
    async with asyncio.timeout(60):
        while streak < times:
            try:
                await ask()
                streak += 1
            except (grpc.aio.AioRpcError, LookupError):
                streak = 0
                await asyncio.sleep(0.1)


async def cost(all_parts: Parts, rounds: int, requests: int) -> list[Round]:
    """Rounds of both variants after each other, so that what disturbs the machine disturbs both."""
    lanes = [*LANES, "fusion"]
    processes = {
        "direct": all_parts.pick(*lanes, "direct"),
        "envoy": all_parts.pick(*lanes, "behind", "envoy"),
    }
    asks = {"direct": asking(all_parts.at(DIRECT))[0], "envoy": asking(all_parts.at(0))[0]}
    for variant, ask in asks.items():
        await until_answered(ask)
        await run(ask, 8, 200, processes[variant])
    samples: list[Round] = []
    for number in range(rounds):
        row: Round = {}
        for concurrency in CONCURRENCY:
            for variant in VARIANTS if number % 2 == 0 else reversed(VARIANTS):
                row[variant, concurrency] = await run(asks[variant], concurrency, requests, processes[variant])
        for variant, latencies in (await in_turn(asks, requests)).items():
            row[variant, 1] = replace(row[variant, 1], latencies=latencies, throughput=requests / sum(latencies))
        samples.append(row)
        print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return samples


async def loss(all_parts: Parts, victim: str, questions: int, clients: int = 8) -> tuple[int, int]:
    """Questions asked and lost while one of two replicas is killed a third of the way."""
    ask, channel = asking(all_parts.at(0))
    await until_answered(ask)
    asked = lost = 0

    async def client() -> None:
        nonlocal asked, lost
        while asked < questions:
            asked += 1
            if asked == questions // 3:
                all_parts.running[victim].kill()
            try:
                await ask()
            except (grpc.aio.AioRpcError, LookupError) as error:
                lost += 1
                print(f"lost: {error}", file=sys.stderr)

    await asyncio.gather(*(client() for _ in range(clients)))
    await channel.close()
    return asked, lost


def figure(samples: Sequence[Round], variant: str, concurrency: int, value: Callable[[Sample], float]) -> float:
    """The median over the rounds."""
    return statistics.median(value(row[variant, concurrency]) for row in samples)


def ratio(samples: Sequence[Round], concurrency: int, value: Callable[[Sample], float]) -> float:
    """The median over the rounds of what is paired in each."""
    return statistics.median(value(row["envoy", concurrency]) / value(row["direct", concurrency]) for row in samples)


def p50(sample: Sample) -> float:
    """Half of the answers came within so many milliseconds."""
    return sample.percentile(0.5)


def page(samples: Sequence[Round], losses: Mapping[str, tuple[int, int]]) -> str:
    """The result as Markdown."""
    lines = [
        "# Envoy",
        "",
        f"Medians of {len(samples)} interleaved rounds; `bench/envoy.py` says what is measured. CPU is that of all "
        "processes, the caller's too.",
        "",
        "| variant | concurrency | p50 ms | p99 ms | answers/s | CPU ms per answer |",
        "|---|---|---|---|---|---|",
    ]
    for variant in VARIANTS:
        for concurrency in CONCURRENCY:
            values: tuple[Callable[[Sample], float], ...] = (
                p50,
                lambda sample: sample.percentile(0.99),
                lambda sample: sample.throughput,
                lambda sample: sample.cpu * 1000,
            )
            found = " | ".join(f"{figure(samples, variant, concurrency, value):.2f}" for value in values)
            lines.append(f"| {variant} | {concurrency} | {found} |")
    lines += ["", "| Envoy to without | measured | target | met |", "|---|---|---|---|"]
    for name, value, most in verdicts(samples, losses):
        lines.append(f"| {name} | {value} | {most} | {'yes' if value <= most else 'NO'} |")
    lines += ["", "| SIGKILL of one of two replicas | questions | lost |", "|---|---|---|"]
    lines += [f"| {name} | {asked} | {lost} |" for name, (asked, lost) in losses.items()]
    return "\n".join(lines) + "\n"


def verdicts(samples: Sequence[Round], losses: Mapping[str, tuple[int, int]]) -> list[tuple[str, float, float]]:
    """Each target: what was measured, and the most it may be."""
    found = [
        ("p50 at 1", round(ratio(samples, 1, p50), 2), P50_MOST),
        ("CPU at 1", round(ratio(samples, 1, lambda sample: sample.cpu), 2), CPU_MOST),
        ("CPU at 8", round(ratio(samples, 8, lambda sample: sample.cpu), 2), CPU_MOST),
    ]
    return found + [(f"lost, {name}", lost / asked, LOST_MOST) for name, (asked, lost) in losses.items()]


async def measure(rounds: int, requests: int, questions: int) -> tuple[list[Round], dict[str, tuple[int, int]]]:
    """Everything, the cost first."""
    with parts(doubled=False) as all_parts:
        samples = await cost(all_parts, rounds, requests)
    with parts(doubled=True) as all_parts:
        losses = {
            f"a replica of `{KILLED_LANE}`": await loss(all_parts, "second lane", questions),
            "a gateway": await loss(all_parts, "second gateway", questions),
        }
    return samples, losses


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, prints the page and writes it."""
    parser = argparse.ArgumentParser(prog="bench.envoy", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default 9)")
    parser.add_argument("--requests", type=int, default=300, help="requests per variant, round and concurrency")
    parser.add_argument("--questions", type=int, default=3000, help="questions of each killing (default 3000)")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    options = parser.parse_args(argv)
    samples, losses = uvloop.run(measure(options.rounds, options.requests, options.questions))
    text = page(samples, losses)
    (HERE / "ENVOY.md").write_text(text, encoding="utf-8")
    print(text)
    return int(options.check and any(value > most for _, value, most in verdicts(samples, losses)))


if __name__ == "__main__":
    sys.exit(main())
