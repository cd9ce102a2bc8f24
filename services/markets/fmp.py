"""Financial Modeling Prep: quotes of shares, indices, currencies and commodities by one endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence
from yarl import URL

from services.markets import instruments
from services.markets.instruments import CURRENCY
from services.markets.listing import listing_of
from services.markets.quote import is_share, optional, quote
from services.providers import dates
from services.providers.http import Get, Http
from services.providers.provider import Base, Entity, Profile, Question
from services.runtime.errors import LanemeshError, Overloaded, Refused, Unauthenticated

PAGE = URL("https://financialmodelingprep.com/stable/quote")


class Fmp:
    """Everything it has a symbol for; the key travels in a header."""

    profile = Profile(
        name="fmp",
        bases=(Base("LANEMESH_FMP_URL", "https://financialmodelingprep.com"),),
        key_variable="FMP_API_KEY",
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """The quote of each entity it covers."""
        spelled = [(entity, symbol) for entity in question.entities if (symbol := _symbol(entity))]
        return [found for entity, symbol in spelled for found in await self._quote(entity, symbol, http)]

    async def _quote(self, entity: Entity, symbol: str, http: Http) -> Sequence[Evidence]:
        reply = await http.json(Get("/stable/quote", params={"symbol": symbol}, headers={"apikey": http.key}))
        if isinstance(reply, dict):
            raise _error(str(reply.get("Error Message", "")).lower())
        return [_read(entity, symbol, row) for row in reply[:1]]


def _symbol(entity: Entity) -> str:
    """Its spelling of a symbol; empty when it has none."""
    if entity.kind == CURRENCY:
        return entity.symbol.replace("/", "")
    if not is_share(entity):
        return instruments.by_symbol(entity.kind)[entity.symbol].codes.get("fmp", "")
    listing = listing_of(entity.symbol)
    root = listing.root.replace(".", "-")
    return f"{root}.{listing.suffix}" if listing.suffix else root


def _read(entity: Entity, symbol: str, row: Mapping[str, Any]) -> Evidence:
    return quote(
        entity,
        provider="Financial Modeling Prep",
        url=str(PAGE.with_query(symbol=symbol)),
        symbol=row["symbol"],
        value=row["price"],
        as_of=dates.epoch(row["timestamp"]),
        change=optional(row.get("change")),
        change_percent=optional(row.get("changePercentage")),
        volume=optional(row.get("volume")),
    )


def _error(sentence: str) -> LanemeshError:
    if "limit" in sentence:
        return Overloaded("its rate limit is reached")
    if "api key" in sentence or "premium" in sentence or "subscription" in sentence:
        return Unauthenticated("it refused the key, or the key's plan does not cover the request")
    return Refused("it reports an error")
