"""The news lane: newspapers that have a key first, then open indexes and feeds; one story once, the newest raised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lanemesh.v1.lane_pb2 import TIME_RANGE_RECENT, TIME_RANGE_UNSPECIFIED, RetrieveRequest, RetrieveResponse

from services.news.gdelt import Gdelt
from services.news.guardian import Guardian
from services.news.hackernews import HackerNews
from services.news.newsapi import NewsApi
from services.news.rss import FEEDS, Rss
from services.news.stories import fold, in_order
from services.news.words import keywords
from services.providers.lane import ProviderLane, open_provider_lane
from services.providers.provider import Provider, Question
from services.providers.settings import ProviderSettings
from services.runtime.errors import StartupError
from services.runtime.settings import load, setting
from services.text.urls import canonical_url, registrable_domain

SOURCE = "news"


@dataclass(frozen=True, slots=True)
class NewsSettings:
    """How long an answer is fresh, and which feeds are read how often."""

    cache_seconds: int = setting("LANEMESH_NEWS_CACHE_SECONDS", 600, low=0, high=86_400)
    feeds: tuple[str, ...] = setting(FEEDS.variable, ())
    feed_seconds: int = setting("LANEMESH_NEWS_FEED_SECONDS", 300, low=0, high=86_400)


class NewsLane:
    """Finds what was published lately."""

    def __init__(self, lane: ProviderLane) -> None:
        self._lane = lane

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """Fills the reply with stories; just so when the deadline cuts the search short."""
        try:
            await self._lane.retrieve(recent(request), reply)
        finally:
            arrange(reply)

    async def check(self) -> None:
        """Returns when a question would be answered now."""
        await self._lane.check()

    async def close(self) -> None:
        """Closes every connection."""
        await self._lane.close()


async def open_lane(environment: Mapping[str, str]) -> NewsLane:
    """The lane over the providers whose keys the environment holds."""
    settings = load(NewsSettings, environment)
    if not all(canonical_url(feed) for feed in settings.feeds):
        raise StartupError(f"{FEEDS.variable}: expected http(s) addresses, separated by commas")
    steps = _steps(settings, simulated=bool(load(ProviderSettings, environment).simulator))
    lane = await open_provider_lane("news", steps, environment, cache_seconds=settings.cache_seconds, frame=frame)
    return NewsLane(lane)


def _steps(settings: NewsSettings, simulated: bool) -> Sequence[Sequence[Provider]]:
    feeds = [Rss(settings.feed_seconds)] if settings.feeds or simulated else []
    return (Guardian(),), (NewsApi(),), (Gdelt(), HackerNews(), *feeds)


def recent(request: RetrieveRequest) -> RetrieveRequest:
    """The request, which asks for what is recent when it says nothing of time."""
    said = request.constraints.time_range != TIME_RANGE_UNSPECIFIED or any(
        bounds.HasField(name)
        for bounds in (request.filters, request.constraints)
        for name in ("published_after", "published_before")
    )
    if said:
        return request
    bounded = RetrieveRequest()
    bounded.CopyFrom(request)
    bounded.constraints.time_range = TIME_RANGE_RECENT
    return bounded


def frame(question: Question, reply: RetrieveResponse) -> Sequence[Question]:
    """The question itself, unless it has no words or asks for kinds of source of which news is none."""
    if question.sources and SOURCE not in question.sources:
        reply.reason = "OUT_OF_SCOPE"
        reply.message = f"The news lane knows no source of kind {', '.join(question.sources)}."
        return ()
    if not keywords(question.query, 1):
        reply.reason = "NO_MATCH"
        reply.message = "The query holds no word to look for."
        return ()
    return (replace(question, sources=()),)


def arrange(reply: RetrieveResponse) -> None:
    """Makes stories of the results: each once, in order, with a text to cite and the domain it comes from."""
    stories = in_order(fold(reply.evidence))
    for story in stories:
        document = story.document
        document.content = document.content or document.title
        document.attributes["domain"] = registrable_domain(document.url)
    del reply.evidence[:]
    reply.evidence.extend(stories)
