"""Questions at a steady rate, whatever becomes of them: an open loop, so that a slow mesh cannot slow its callers."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import grpc
from lanemesh.v1.lane_pb2 import LaneStatus
from lanemesh.v1.search_pb2 import SearchRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

PER_SECOND = 50.0
DEADLINE_SECONDS = 5.0
# Several connections, as several callers would have, and no retries of their own.
CONNECTIONS = 4
OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
LOST = {LaneStatus.LANE_STATUS_ERROR, LaneStatus.LANE_STATUS_TIMEOUT, LaneStatus.LANE_STATUS_SKIPPED}
QUESTIONS = (
    "How many times does PaymentAdapter retry a failed charge?",
    "How does checkout reserve stock?",
    "What is the session lifetime?",
    "Which services depend on the ledger?",
)


@dataclass
class Load:
    """What became of the questions."""

    asked: int = 0
    failures: list[str] = field(default_factory=list)
    # Lanes that did not answer although they were asked, and why.
    rows: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    async def run(self, address: str, lanes: Sequence[str], enough: asyncio.Event) -> None:
        """Asks until there was enough, then waits for the last answers."""
        channels = [grpc.aio.insecure_channel(address, options=OPTIONS) for _ in range(CONNECTIONS)]
        stubs = [SearchServiceStub(channel) for channel in channels]
        begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            while not enough.is_set():
                stub = stubs[self.asked % CONNECTIONS]
                group.create_task(self._ask(stub, QUESTIONS[self.asked % len(QUESTIONS)], lanes))
                self.asked += 1
                await asyncio.sleep(begun + self.asked / PER_SECOND - time.monotonic())
        for channel in channels:
            await channel.close()

    async def _ask(self, stub: SearchServiceStub, question: str, lanes: Sequence[str]) -> None:
        begun = time.monotonic()
        try:
            reply = await stub.Search(SearchRequest(query=question, include_lanes=lanes), timeout=DEADLINE_SECONDS)
        except grpc.aio.AioRpcError as error:
            self.failures.append(f"{error.code().name}: {error.details()}")
            return
        self.seconds.append(time.monotonic() - begun)
        self.rows.update((row.lane, row.reason) for row in reply.ledger if row.status in LOST and row.budget_ms)

    def lost(self) -> str:
        """Which lanes failed within questions that were answered all the same."""
        return ", ".join(f"{lane} {reason}: {count}" for (lane, reason), count in self.rows.items()) or "no lane lost"

    def summary(self) -> str:
        """One line for people."""
        ordered = sorted(self.seconds)
        p50, p99 = (ordered[int(share * (len(ordered) - 1))] * 1000 for share in (0.5, 0.99))
        return f"{self.asked} asked, {len(self.failures)} failed, p50 {p50:.0f} ms, p99 {p99:.0f} ms"
