"""A closed loop of clients: each sends its next request when the last is answered."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import psutil

Ask = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Sample:
    """One run: latencies in seconds, requests per second, CPU seconds per answer over all processes."""

    concurrency: int
    latencies: list[float]
    throughput: float
    cpu: float

    def percentile(self, share: float) -> float:
        """The latency, in milliseconds, below which `share` of the answers came."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


async def run(ask: Ask, concurrency: int, requests: int, processes: list[psutil.Process]) -> Sample:
    """Sends `requests` requests from `concurrency` clients."""
    latencies: list[float] = []
    left = requests

    async def client() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            started = time.perf_counter()
            await ask()
            latencies.append(time.perf_counter() - started)

    cpu = cpu_seconds(processes)
    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(concurrency)))
    elapsed = time.perf_counter() - started
    spent = cpu_seconds(processes) - cpu
    return Sample(concurrency, latencies, len(latencies) / elapsed, spent / len(latencies))


async def in_turn(asks: Mapping[str, Ask], requests: int) -> dict[str, list[float]]:
    """Latencies of one client that asks each variant in turn, so that neighbours in time are compared.

    The order is drawn anew each time: whoever always follows the lightest would find the caches warmest.
    """
    latencies: dict[str, list[float]] = {variant: [] for variant in asks}
    order = list(asks)
    draw = random.Random(1)
    for _ in range(requests):
        draw.shuffle(order)
        for variant in order:
            started = time.perf_counter()
            await asks[variant]()
            latencies[variant].append(time.perf_counter() - started)
    return latencies


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """User and system time of the processes so far."""
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))
