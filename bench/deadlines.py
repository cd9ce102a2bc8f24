"""`python -m bench.deadlines`: how late answers are when lanes hang, for deadlines from 50 ms to 1 s.

Null lanes, our gateway and fusion, a few clients; one or two lanes are stopped by SIGSTOP, each in its turn. Then
thousands of calls are given up by their client. Writes bench/DEADLINES.md.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import psutil
import uvloop
from lanemesh.v1.lane_pb2 import LANE_STATUS_OK, LANE_STATUS_TIMEOUT
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from bench.faults import percentile
from bench.null import LANES
from bench.processes import free_base, mesh

HERE = Path(__file__).parent
DEADLINES = (0.05, 0.1, 0.3, 1.0)
CLIENTS = 2
QUESTION = SearchRequest(query="how does the payment adapter retry a failed order request", include_lanes=LANES)
# The lanes' least time in the table keeps some of them from being asked under a very short deadline.
NOT_ASKED = "BUDGET_TOO_SMALL"


@contextmanager
def stopped(processes: Sequence[psutil.Process]) -> Iterator[None]:
    """These processes do not run inside the block."""
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


def is_right(reply: SearchResponse, hung: Sequence[str]) -> bool:
    """Whether the ledger says TIMEOUT for the lanes that hang and OK for the others that were asked."""
    rows = {row.lane: row for row in reply.ledger if row.lane in LANES and row.reason != NOT_ASKED}
    return len(rows) > 0 and all(
        row.status == (LANE_STATUS_TIMEOUT if name in hung else LANE_STATUS_OK) for name, row in rows.items()
    )


async def answers(search: Any, deadline: float, count: int, hung: Sequence[str]) -> tuple[list[float], Counter[str]]:
    """Lateness of `count` answers in seconds (negative: before the deadline), and how they went."""
    late: list[float] = []
    how: Counter[str] = Counter()
    left = count

    async def client() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            started = time.perf_counter()
            try:
                reply = await search(QUESTION, timeout=deadline)
                how["right" if is_right(reply, hung) else "wrong"] += 1
            except grpc.aio.AioRpcError as error:
                how[error.code().name] += 1
            late.append(time.perf_counter() - started - deadline)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return late, how


async def measure(base: int, lanes: dict[str, psutil.Process], gateway: psutil.Process, count: int) -> list[str]:
    """The rows of the table."""
    rows = []
    async with grpc.aio.insecure_channel(f"127.0.0.1:{base}") as channel:
        search = SearchServiceStub(channel).Search
        await _ready(search)
        for deadline, size in itertools.product(DEADLINES, (1, 2)):
            pairs = list(itertools.combinations(LANES, size))
            late: list[float] = []
            how: Counter[str] = Counter()
            for hung in pairs:
                with stopped([lanes[name] for name in hung]):
                    some, went = await answers(search, deadline, max(1, count // len(pairs)), hung)
                late += some
                how += went
                await _ready(search)
            figures = " / ".join(f"{percentile(late, share) * 1000:.1f}" for share in (0.5, 0.99, 0.999))
            rows.append(f"| {deadline * 1000:.0f} | {size} | {len(late)} | {figures} | {dict(how)} |")
            print(rows[-1], file=sys.stderr, flush=True)
        rows.append(await _given_up(search, lanes, gateway, 5 * count))
    return rows


async def _given_up(search: Any, lanes: dict[str, psutil.Process], gateway: psutil.Process, count: int) -> str:
    """Memory before and after so many calls that their client gave up while a lane hung."""
    before = gateway.memory_info().rss / 1e6
    with stopped([lanes["kg"]]):
        for _ in range(count // 50):
            calls = [search(QUESTION, timeout=5.0) for _ in range(50)]
            await asyncio.sleep(0.01)
            for call in calls:
                call.cancel()
    await _ready(search)
    after = gateway.memory_info().rss / 1e6
    return f"\n{count} calls given up by their client: gateway memory {before:.0f} MB before, {after:.0f} MB after."


async def _ready(search: Any) -> None:
    """Waits until every lane answers again."""
    for _ in range(600):
        try:
            if is_right(await search(QUESTION, timeout=5.0), ()):
                return
        except grpc.aio.AioRpcError:
            pass
        await asyncio.sleep(0.1)
    raise SystemExit("bench: the mesh does not answer")


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.deadlines", description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=2000, help="answers per deadline and number of hung lanes")
    count = parser.parse_args(argv).answers
    base = free_base(24)
    with mesh(base) as processes:
        started = processes["fused"]
        lanes = dict(zip(LANES, started[1 : 1 + len(LANES)], strict=True))
        rows = uvloop.run(measure(base, lanes, started[-2], count))
    head = [
        "# Deadlines",
        "",
        f"{CLIENTS} clients; lateness of the answer against the deadline, negative before it. Every lane, and every "
        "pair of lanes, hangs in turn.",
        "",
        "| deadline ms | lanes hung | answers | late by p50 / p99 / p99.9 ms | ledger |",
        "|---|---|---|---|---|",
    ]
    page = "\n".join([*head, *rows]) + "\n"
    (HERE / "DEADLINES.md").write_text(page)
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
