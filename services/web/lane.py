"""The web lane: search engines that have a key first, then open reference works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lanemesh.v1.lane_pb2 import RetrieveResponse

from services.providers.lane import ProviderLane, open_provider_lane
from services.providers.provider import Provider, Question
from services.runtime.settings import load, setting
from services.web.brave import Brave
from services.web.duckduckgo import DuckDuckGo
from services.web.mdn import Mdn
from services.web.serpapi import SerpApi
from services.web.sites import SITES, sites_of
from services.web.stackexchange import StackExchange
from services.web.wikipedia import Wikipedia

STEPS: Sequence[Sequence[Provider]] = (
    (Brave(),),
    (SerpApi(),),
    (DuckDuckGo(), Wikipedia(), StackExchange(), Mdn()),
)
SOURCES = {"web", *SITES}


@dataclass(frozen=True, slots=True)
class WebSettings:
    """How long an answer is fresh."""

    cache_seconds: int = setting("LANEMESH_WEB_CACHE_SECONDS", 300, low=0, high=86_400)


def frame(question: Question, reply: RetrieveResponse) -> Sequence[Question]:
    """The question limited to the sites of the sources asked for; none when no such source is on the web."""
    known = tuple(source for source in question.sources if source in SOURCES)
    if question.sources and not known:
        reply.reason = "OUT_OF_SCOPE"
        reply.message = f"The web lane knows no source of kind {', '.join(question.sources)}."
        return ()
    return (replace(question, sources=known, sites=sites_of(known)),)


async def open_lane(environment: Mapping[str, str]) -> ProviderLane:
    """The lane over the providers whose keys the environment holds."""
    settings = load(WebSettings, environment)
    return await open_provider_lane("web", STEPS, environment, cache_seconds=settings.cache_seconds, frame=frame)
