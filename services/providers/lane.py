"""What web, news and markets are: a lane that puts questions to providers. They differ in providers and in framing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from lanemesh.v1.lane_pb2 import CACHE_USE_HIT, CACHE_USE_JOINED, RetrieveRequest, RetrieveResponse

from services.providers import report
from services.providers.cache import Cache, Shared, cache_key
from services.providers.flight import Flights
from services.providers.http import Client
from services.providers.merge import Keys, by_identity
from services.providers.provider import Provider, Question
from services.providers.question import Reading
from services.providers.report import Asking
from services.providers.run import Panel, Run
from services.providers.settings import ProviderSettings
from services.providers.sources import read_sources
from services.runtime import deadline
from services.runtime.settings import load

log = logging.getLogger(__name__)

# Turns the neutral question into those that are put to the providers. None: it has said in the reply why not.
Frame = Callable[[Question, RetrieveResponse], Sequence[Question]]


def as_it_is(question: Question, _reply: RetrieveResponse) -> Sequence[Question]:
    """The question itself."""
    return (question,)


class ProviderLane:
    """A lane whose evidence comes from outside."""

    def __init__(self, panel: Panel, cache: Cache, reading: Reading, frame: Frame = as_it_is) -> None:
        self._panel = panel
        self._cache = cache
        self._reading = reading
        self._frame = frame
        self._flights = Flights(cache, panel.settings.background)
        self._addresses = panel.addresses()

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """Puts the question, or each of them, to the cache and the providers; what is there at the deadline is told."""
        began = time.perf_counter()
        reply.engine = "providers"
        questions = self._frame(self._reading.question(request, datetime.now(UTC)), reply)
        askings = [Asking(question) for question in questions]
        if not askings:
            return
        try:
            await asyncio.gather(*(self._ask(asking, request.filters.access_labels) for asking in askings))
        finally:
            limit = min(request.max_results, self._reading.max_results)
            report.write(reply, askings, self._panel.keys, limit, began)

    async def check(self) -> None:
        """Always ready: without its providers it can still answer from the cache, and only questions probe them."""

    async def close(self) -> None:
        """Ends what runs in the background and closes every connection."""
        await self._flights.close()
        await self._panel.client.close()
        await self._cache.close()

    async def _ask(self, asking: Asking, labels: Sequence[str]) -> None:
        key = cache_key(self._panel.lane, self._addresses, asking.question, labels)
        flight = self._flights.join(key)
        if flight is None:
            asking.entry = await self._cache.find(key)
            if asking.entry is not None and self._cache.fresh(asking.entry):
                asking.cache = CACHE_USE_HIT
                return
            # While the cache was asked, somebody else may have begun.
            flight = self._flights.join(key)
        if flight is None:
            flight = self._flights.begin(key, Run(self._panel, asking.question, deadline.current()))
        else:
            asking.cache = CACHE_USE_JOINED
        asking.flight = flight
        await flight.wait(deadline.current())
        asking.answered = True


async def open_provider_lane(
    lane: str,
    steps: Sequence[Sequence[Provider]],
    environment: Mapping[str, str],
    *,
    cache_seconds: float,
    frame: Frame = as_it_is,
    keys: Keys = by_identity,
) -> ProviderLane:
    """The lane over its providers: each step is asked at once, the next when it fails, is empty or too slow.

    `frame` makes the questions, `keys` says which results are the same. StartupError when no provider can be used.
    """
    settings = load(ProviderSettings, environment)
    sources = read_sources(lane, steps, settings, environment)
    reading = Reading.of(lane, environment)
    if not settings.contact and not settings.simulator:
        log.warning("LANEMESH_CONTACT is not set: Wikimedia and the SEC may turn requests away")
    cache = Cache(cache_seconds, settings.stale_seconds, settings.cache_bytes, _shared(settings))
    return ProviderLane(Panel(lane, sources, Client(settings), keys), cache, reading, frame)


def _shared(settings: ProviderSettings) -> Shared | None:
    if not settings.redis_url:
        return None
    from services.providers.redis_store import RedisStore

    return RedisStore(settings.redis_url, settings.redis_ms / 1000, settings.redis_pause_seconds)
