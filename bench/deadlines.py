"""`python -m bench.deadlines`: how late answers are when lanes hang, for deadlines from 50 ms to 1 s.

Null lanes, our gateway and fusion, a few clients; one or two lanes are stopped by SIGSTOP, each in its turn. Before
that, thousands of calls are given up by their client. Writes what it measured into bench/DEADLINES.md.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import signal
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import Any

import grpc
import psutil
import uvloop
from lanemesh.v1.lane_pb2 import LANE_STATUS_OK, LANE_STATUS_TIMEOUT
from lanemesh.v1.search_pb2 import LedgerRow, SearchRequest, SearchResponse
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from bench.faults import percentile
from bench.null import LANES
from bench.processes import METRICS, free_base, mesh

PAGE = Path(__file__).parent / "DEADLINES.md"
HEAD = [
    "# Deadlines",
    "",
    "Lateness of the answer against the deadline, negative before it. Every lane, and every pair, hangs in turn.",
    "",
    "| deadline ms | lanes hung | clients | answers | late by p50 / p99 / p99.9 ms | ledger |",
    "|---|---|---|---|---|---|",
]
# Deadlines in milliseconds, and how many clients ask: the longer an answer takes, the fewer a client asks for.
CLIENTS = {50: 1, 100: 2, 300: 8, 1000: 16}
TOGETHER = 50
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


def wrong(reply: SearchResponse, hung: Sequence[str]) -> list[str]:
    """Where the ledger does not say TIMEOUT of a lane that hangs, or OK of another that was asked."""
    rows = {row.lane: row for row in reply.ledger if row.lane in LANES and row.reason != NOT_ASKED}
    return ["no lane asked"] * (not rows) + [
        f"{'hung' if name in hung else 'sound'} lane {row.reason or 'OK'} after {row.elapsed_ms:.0f} "
        f"of {row.budget_ms:.0f} ms"
        for name, row in rows.items()
        if row.status != (LANE_STATUS_TIMEOUT if name in hung else LANE_STATUS_OK) and not spent(row)
    ]


def spent(row: LedgerRow) -> bool:
    """Whether a lane used up its budget: on a machine that had other things to do, a sound one does now and then."""
    return row.status == LANE_STATUS_TIMEOUT and row.elapsed_ms >= row.budget_ms - 1.0


def account(reply: SearchResponse, hung: Sequence[str]) -> str:
    """What to say of an answer's ledger."""
    if said := wrong(reply, hung):
        return "wrong: " + "; ".join(said)
    slow = any(spent(row) for row in reply.ledger if row.lane not in hung)
    return "right though a sound lane used up its budget" if slow else "right"


async def answers(
    search: Any, deadline: float, clients: int, count: int, hung: Sequence[str]
) -> tuple[list[float], Counter[str]]:
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
                how[account(reply, hung)] += 1
            except grpc.aio.AioRpcError as error:
                how[error.code().name] += 1
            late.append(time.perf_counter() - started - deadline)

    await asyncio.gather(*(client() for _ in range(clients)))
    return late, how


async def lateness(base: int, lanes: dict[str, psutil.Process], deadlines: Sequence[int], count: int) -> None:
    """Measures the rows of these deadlines, and writes each as soon as it is known."""
    rows: list[str] = []
    async with grpc.aio.insecure_channel(f"127.0.0.1:{base}") as channel:
        search = SearchServiceStub(channel).Search
        await _ready(search)
        for deadline, size in itertools.product(deadlines, (1, 2)):
            groups = list(itertools.combinations(LANES, size))
            late: list[float] = []
            how: Counter[str] = Counter()
            for hung in groups:
                with stopped([lanes[name] for name in hung]):
                    share = ceil(count / len(groups))
                    some, went = await answers(search, deadline / 1000, CLIENTS[deadline], share, hung)
                late += some
                how += went
                await _ready(search)
            figures = " / ".join(f"{percentile(late, share) * 1000:.1f}" for share in (0.5, 0.99, 0.999))
            said = ", ".join(f"{number} {what}" for what, number in sorted(how.items()))
            rows.append(f"| {deadline} | {size} | {CLIENTS[deadline]} | {len(late)} | {figures} | {said} |")
            print(rows[-1], file=sys.stderr, flush=True)
            PAGE.write_text(page(rows))


async def given_up(base: int, hung: psutil.Process, gateway: psutil.Process, count: int) -> None:
    """Handlers alive and memory grown after so many calls that their client gave up while a lane hung."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{base}") as channel:
        search = SearchServiceStub(channel).Search
        await _ready(search)
        alive, memory = 0, []
        with stopped([hung]):
            for number in range(count // TOGETHER):
                calls = [search(QUESTION, timeout=5.0) for _ in range(TOGETHER)]
                await asyncio.sleep(0.02)
                for call in calls:
                    call.cancel()
                await asyncio.sleep(0.1)
                alive = max(alive, await asyncio.to_thread(_handlers, base + METRICS))
                if number % (count // TOGETHER // 4) == 0:
                    memory.append(gateway.memory_info().rss / 1e6)
        await _ready(search)
    memory.append(gateway.memory_info().rss / 1e6)
    row = (
        f"{count} calls given up by their client, {TOGETHER} at a time: at most {alive} handlers alive 100 ms later; "
        f"gateway memory {' / '.join(f'{size:.0f}' for size in memory)} MB from first to last."
    )
    PAGE.write_text(page([row]))


def _handlers(port: int) -> int:
    """The calls that the gateway says it is serving."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5.0) as page:
        lines = page.read().decode().splitlines()
    return int(float(next(line for line in lines if line.startswith("lanemesh_rpc_in_flight ")).split()[1]))


async def _ready(search: Any) -> None:
    """Waits until every lane answers again."""
    for _ in range(600):
        try:
            if account(await search(QUESTION, timeout=5.0), ()) == "right":
                return
        except grpc.aio.AioRpcError:
            pass
        await asyncio.sleep(0.1)
    raise SystemExit("bench: the mesh does not answer")


def page(rows: Sequence[str]) -> str:
    """The page with these rows, and those of the page as it stands that were not measured anew."""
    measured = {_key(row) for row in rows}
    standing = PAGE.read_text().splitlines()[len(HEAD) :] if PAGE.exists() else []
    every = [*rows, *(row for row in standing if row and _key(row) not in measured)]
    table = sorted((row for row in every if row.startswith("|")), key=_key)
    return "\n".join([*HEAD, *table, "", *(row for row in every if not row.startswith("|"))]) + "\n"


def _key(row: str) -> tuple[int, ...]:
    """Deadline and number of lanes hung; nothing for the line on calls given up."""
    return tuple(int(cell) for cell in row.split("|")[1:3]) if row.startswith("|") else ()


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.deadlines", description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=2000, help="answers per deadline and number of hung lanes")
    parser.add_argument(
        "--deadlines", type=int, nargs="*", choices=CLIENTS, default=list(CLIENTS), help="only these, in ms"
    )
    parser.add_argument(
        "--given-up", type=int, default=10_000, metavar="CALLS", help="calls to give up (default 10000)"
    )
    arguments = parser.parse_args(argv)
    base = free_base(24)
    with mesh(base) as processes:
        started = processes["fused"]
        lanes = dict(zip(LANES, started[1 : 1 + len(LANES)], strict=True))
        if arguments.given_up:
            uvloop.run(given_up(base, lanes["kg"], started[-2], arguments.given_up))
        if arguments.deadlines:
            uvloop.run(lateness(base, lanes, arguments.deadlines, arguments.answers))
    print(PAGE.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
