"""Alpha Vantage: the latest price of a share (GLOBAL_QUOTE) and exchange rates (CURRENCY_EXCHANGE_RATE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.markets.instruments import CURRENCY
from services.markets.listing import listing_of
from services.markets.quote import is_share, number, optional, quote
from services.providers import dates
from services.providers.http import Get, Http
from services.providers.provider import Base, Entity, Profile, Question
from services.runtime.errors import LanemeshError, Overloaded, Refused, Unauthenticated

PAGE = "https://www.alphavantage.co/query?function="
# Its suffix for ours; an exchange that is not here it does not cover.
SUFFIXES = {
    "": "",
    "L": ".LON",
    "DE": ".DEX",
    "F": ".FRK",
    "PA": ".PAR",
    "AS": ".AMS",
    "LS": ".LIS",
    "BR": ".BRU",
    "TO": ".TRT",
    "V": ".TRV",
    "BO": ".BSE",
    "SS": ".SHH",
    "SZ": ".SHZ",
}
# It reports errors with status 200 and a sentence; the first words that stand in it decide.
_ERRORS: Sequence[tuple[str, type[LanemeshError], str]] = (
    ("rate limit", Overloaded, "its rate limit is reached"),
    ("call frequency", Overloaded, "its rate limit is reached"),
    ("requests per", Overloaded, "its rate limit is reached"),
    ("apikey", Unauthenticated, "it refused the key"),
    ("api key", Unauthenticated, "it refused the key"),
    ("premium", Unauthenticated, "the key's plan does not cover the request"),
)


class AlphaVantage:
    """Shares and currencies. The API takes its key only in the query string."""

    profile = Profile(
        name="alphavantage",
        bases=(Base("LANEMESH_ALPHAVANTAGE_URL", "https://www.alphavantage.co"),),
        key_variable="ALPHAVANTAGE_KEY",
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """The quote of each entity it covers."""
        return [found for entity in question.entities if (found := await self._quote(entity, http))]

    async def _quote(self, entity: Entity, http: Http) -> Evidence | None:
        if entity.kind == CURRENCY:
            return await self._rate(entity, http)
        listing = listing_of(entity.symbol)
        if not is_share(entity) or listing.suffix not in SUFFIXES:
            return None
        symbol = listing.root.replace(".", "-") + SUFFIXES[listing.suffix]
        reply = await self._ask(http, {"function": "GLOBAL_QUOTE", "symbol": symbol})
        row = reply["Global Quote"]
        if not row:
            return None
        return quote(
            entity,
            provider="Alpha Vantage",
            url=f"{PAGE}GLOBAL_QUOTE&symbol={symbol}",
            symbol=row["01. symbol"],
            value=row["05. price"],
            as_of=dates.iso(row["07. latest trading day"]),
            change=optional(row.get("09. change")),
            change_percent=optional(str(row.get("10. change percent", "")).removesuffix("%")),
            volume=optional(row.get("06. volume")),
        )

    async def _rate(self, entity: Entity, http: Http) -> Evidence:
        base, _, counter = entity.symbol.partition("/")
        parameters = {"function": "CURRENCY_EXCHANGE_RATE", "from_currency": base, "to_currency": counter}
        row = (await self._ask(http, parameters))["Realtime Currency Exchange Rate"]
        return quote(
            entity,
            provider="Alpha Vantage",
            url=f"{PAGE}CURRENCY_EXCHANGE_RATE&from_currency={base}&to_currency={counter}",
            symbol=f"{row['1. From_Currency Code']}/{row['3. To_Currency Code']}",
            value=number(row["5. Exchange Rate"]),
            as_of=dates.iso(row["6. Last Refreshed"]) if row["7. Time Zone"] == "UTC" else None,
        )

    async def _ask(self, http: Http, parameters: Mapping[str, str]) -> Mapping[str, Any]:
        reply: Mapping[str, Any] = await http.json(Get("/query", params={**parameters, "apikey": http.key}))
        for field in ("Note", "Information", "Error Message"):
            if field in reply:
                raise _error(str(reply[field]).lower())
        return reply


def _error(sentence: str) -> LanemeshError:
    for words, kind, message in _ERRORS:
        if words in sentence:
            return kind(message)
    return Refused("it reports an error")
