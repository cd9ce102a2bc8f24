"""Measures the kg lane of a running mesh on questions with known answers, and what the wire costs beside its engine.

    python -m bench.graph --lane 127.0.0.1:50055 QUESTIONS...

A file of questions has one per line: the question, a tab, its answers joined by bars. Brackets around the topic, as
some collections have them, are removed. A question is answered when one of its answers is the title of a result. With
--graph the same questions are also put to the engine in this process, over the file the lane serves, in turn with the
lane, and the difference of both medians is what gRPC costs.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import uvloop
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.kg.lane import open_lane
from services.runtime.clients import open_channel

RESULTS = 20
TIME_OUT = 10.0

Ask = Callable[[RetrieveRequest], Awaitable[RetrieveResponse]]
Question = tuple[str, frozenset[str]]


@dataclass(slots=True)
class Tally:
    """What one file of questions came to."""

    questions: int = 0
    answered: int = 0
    first: int = 0
    wire: list[float] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)


def read(path: Path) -> list[Question]:
    """The questions of a file with their answers."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return [(re.sub(r"[\[\]]", "", question), frozenset(answers.split("|"))) for question, answers in rows]


async def measure(questions: Sequence[Question], lane: Ask, engine: Ask | None) -> Tally:
    """Asks one after another; the lane and the engine take turns so that both meet the same machine."""
    tally = Tally()
    for text, answers in questions:
        request = RetrieveRequest(query=text, max_results=RESULTS)
        reply = await timed(lane, request, tally.wire)
        if engine is not None:
            await timed(engine, request, tally.inside)
        titles = [evidence.document.title for evidence in reply.evidence]
        tally.questions += 1
        tally.answered += bool(answers.intersection(titles))
        tally.first += bool(answers.intersection(titles[:1]))
    return tally


async def timed(ask: Ask, request: RetrieveRequest, times: list[float]) -> RetrieveResponse:
    """One answer, its time in milliseconds noted."""
    started = time.perf_counter()
    reply = await ask(request)
    times.append((time.perf_counter() - started) * 1_000)
    return reply


def row(name: str, tally: Tally) -> str:
    """One line of the table."""
    wire = sorted(tally.wire)
    cost = statistics.median(wire) - statistics.median(tally.inside) if tally.inside else float("nan")
    return (
        f"{name:<24}{tally.questions:>9}{tally.answered / tally.questions:>10.1%}{tally.first / tally.questions:>8.1%}"
        f"{statistics.median(wire):>9.1f}{wire[int(0.99 * len(wire))]:>9.1f}{cost:>11.2f}"
    )


async def run(options: argparse.Namespace) -> None:
    """Prints the table."""
    async with open_channel(options.lane) as channel:
        stub = LaneServiceStub(channel)
        inside = await open_lane({"LANEMESH_HOME": options.graph}) if options.graph else None

        async def over_the_wire(request: RetrieveRequest) -> RetrieveResponse:
            return await stub.Retrieve(request, timeout=TIME_OUT)

        async def in_process(request: RetrieveRequest) -> RetrieveResponse:
            reply = RetrieveResponse()
            assert inside is not None
            await inside.retrieve(request, reply)
            return reply

        print(f"{'questions':<24}{'number':>9}{'answered':>10}{'first':>8}{'p50 ms':>9}{'p99 ms':>9}{'gRPC ms':>11}")
        for path in options.questions:
            print(row(path.name, await measure(read(path), over_the_wire, in_process if inside else None)))
        if inside is not None:
            await inside.close()
    if options.pid:
        print(f"resident memory of the lane: {psutil.Process(options.pid).memory_info().rss / 2**20:.0f} MB")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="+", type=Path, help="files of questions")
    parser.add_argument("--lane", default="127.0.0.1:50055", help="address of the kg lane")
    parser.add_argument("--graph", default="", help="LANEMESH_HOME of the lane, to ask its engine in process as well")
    parser.add_argument("--pid", type=int, default=0, help="process of the lane, to report its memory")
    uvloop.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
