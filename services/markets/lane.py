"""The markets lane: finds what a query asks the price of, and asks every provider for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lanemesh.v1.evidence_pb2 import Span
from lanemesh.v1.lane_pb2 import LinkedEntity, RetrieveRequest, RetrieveResponse

from services.markets import instruments
from services.markets.alphavantage import AlphaVantage
from services.markets.edgar import Edgar
from services.markets.finder import find
from services.markets.finnhub import Finnhub
from services.markets.fmp import Fmp
from services.markets.found import Found
from services.markets.quote import SOURCE
from services.markets.stooq import Stooq
from services.providers.lane import Frame, ProviderLane, open_provider_lane
from services.providers.provider import Provider, Question
from services.runtime.settings import load, setting

NO_ENTITY = "NO_ENTITY"


@dataclass(frozen=True, slots=True)
class MarketsSettings:
    """How long answers are fresh, and how much one query may ask for."""

    cache_seconds: int = setting("LANEMESH_MARKETS_CACHE_SECONDS", 300, low=0, high=86_400)
    max_entities: int = setting("LANEMESH_MARKETS_MAX_ENTITIES", 5, low=1, high=15)
    tickers_seconds: int = setting("LANEMESH_EDGAR_TICKERS_SECONDS", 86_400, low=60, high=30 * 86_400)


class MarketsLane:
    """Finds prices and filings."""

    def __init__(self, providers: ProviderLane) -> None:
        self._providers = providers

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """Asks the providers, unless the caller wants other kinds of source only."""
        # The gateway takes the word that chose this lane out of the filters.
        wanted = {*request.filters.sources, *request.constraints.sources}
        if request.filters.sources and SOURCE not in wanted:
            reply.reason = "OUT_OF_SCOPE"
            reply.message = f"The markets lane knows no source of kind {', '.join(request.filters.sources)}."
            return
        await self._providers.retrieve(request, reply)

    async def check(self) -> None:
        """As the providers."""
        await self._providers.check()

    async def close(self) -> None:
        """Closes what the providers hold."""
        await self._providers.close()


def steps(settings: MarketsSettings) -> Sequence[Sequence[Provider]]:
    """The providers in the order in which they are asked."""
    return ((AlphaVantage(),), (Finnhub(), Fmp()), (Stooq(), Edgar(settings.tickers_seconds)))


async def open_lane(environment: Mapping[str, str]) -> MarketsLane:
    """The lane over the providers whose keys the environment holds."""
    settings = load(MarketsSettings, environment)
    instruments.read_all()
    providers = await open_provider_lane(
        "markets",
        steps(settings),
        environment,
        cache_seconds=settings.cache_seconds,
        frame=framed(settings.max_entities),
    )
    return MarketsLane(providers)


def framed(max_entities: int) -> Frame:
    """Makes one question of each entity, so that each has its own providers, cache entry and fallback."""

    def frame(question: Question, reply: RetrieveResponse) -> Sequence[Question]:
        found = find(question.query)
        reply.entities.extend(_linked(question.query, each) for each in found)
        if not found:
            reply.reason = NO_ENTITY
            reply.message = "The query names no ticker, company, currency pair, index or commodity."
        if len(found) > max_entities:
            left_out = ", ".join(each.entity.mention for each in found[max_entities:])
            reply.message = f"Only the first {max_entities} entities were looked up, not: {left_out}."
        return [_asked(question, each) for each in found[:max_entities]]

    return frame


def _asked(question: Question, found: Found) -> Question:
    """The question for one entity, the same however the query put it, so that the cache knows it again."""
    entity = replace(found.entity, mention=found.entity.symbol)
    return replace(question, query=entity.symbol, sources=(), entities=(entity,))


def _linked(query: str, found: Found) -> LinkedEntity:
    before, inside = query[: found.start].encode(), query[found.start : found.end].encode()
    return LinkedEntity(
        mention=found.entity.mention,
        span=Span(start=found.start, end=found.end, start_byte=len(before), end_byte=len(before) + len(inside)),
        name=found.entity.name or found.entity.symbol,
        type=found.entity.kind,
        confidence=found.confidence,
    )
