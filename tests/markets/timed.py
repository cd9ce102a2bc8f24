"""The markets lane with its patience and its clock in the test's hand."""

from __future__ import annotations

import asyncio
import time

from services.markets.lane import MarketsLane, MarketsSettings, framed, steps
from services.providers.cache import Cache
from services.providers.http import Client
from services.providers.lane import ProviderLane
from services.providers.question import Reading
from services.providers.run import Panel, Sleep
from services.providers.settings import ProviderSettings
from services.providers.sources import read_sources
from services.runtime.deadline import Clock
from services.runtime.settings import load
from tests.simulator.server import Simulator


def timed_lane(simulator: Simulator, sleep: Sleep, now: Clock = time.time) -> MarketsLane:
    """As open_lane makes it: `sleep` is the wait for a slow step, `now` the age of the cache."""
    settings = load(ProviderSettings, simulator.environment())
    sources = read_sources("markets", steps(MarketsSettings()), settings, simulator.environment())
    panel = Panel("markets", sources, Client(settings), sleep=sleep)
    cache = Cache(300, 86_400, 1 << 20, now=now)
    return MarketsLane(ProviderLane(panel, cache, Reading.of("markets", {}), framed(5)))


def patience(times: int) -> Sleep:
    """Is at its end at once so many times, and endless after that."""
    left = iter(range(times))

    async def sleep(_seconds: float) -> None:
        if next(left, None) is None:
            await asyncio.Event().wait()

    return sleep
