"""The news lane with its patience and its clock in the test's hand."""

from __future__ import annotations

import time

from services.news.gdelt import Gdelt
from services.news.guardian import Guardian
from services.news.hackernews import HackerNews
from services.news.lane import NewsLane, frame
from services.news.newsapi import NewsApi
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


def timed_lane(simulator: Simulator, sleep: Sleep, now: Clock = time.time) -> NewsLane:
    """As open_lane makes it, without feeds: `sleep` is the wait for a slow step, `now` the age of the cache."""
    settings = load(ProviderSettings, simulator.environment())
    steps = ((Guardian(),), (NewsApi(),), (Gdelt(), HackerNews()))
    sources = read_sources("news", steps, settings, simulator.environment())
    panel = Panel("news", sources, Client(settings), sleep=sleep)
    cache = Cache(600, 86_400, 1 << 20, now=now)
    return NewsLane(ProviderLane(panel, cache, Reading.of("news", {}), frame))
