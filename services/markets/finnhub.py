"""Finnhub: the quote of a share that is listed in the United States."""

from __future__ import annotations

from collections.abc import Sequence

from lanemesh.v1.evidence_pb2 import Evidence

from services.markets.listing import listing_of
from services.markets.quote import is_share, optional, quote
from services.providers import dates
from services.providers.http import Get, Http
from services.providers.provider import Base, Entity, Profile, Question
from services.runtime.errors import Refused

PAGE = "https://finnhub.io/api/v1/quote?symbol="


class Finnhub:
    """Shares in the United States; the key travels in a header."""

    profile = Profile(
        name="finnhub",
        bases=(Base("LANEMESH_FINNHUB_URL", "https://finnhub.io"),),
        key_variable="FINNHUB_KEY",
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """The quote of each entity it covers."""
        covered = [entity for entity in question.entities if is_share(entity) and not listing_of(entity.symbol).suffix]
        return [found for entity in covered if (found := await self._quote(entity, http))]

    async def _quote(self, entity: Entity, http: Http) -> Evidence | None:
        headers = {"X-Finnhub-Token": http.key}
        reply = await http.json(Get("/api/v1/quote", params={"symbol": entity.symbol}, headers=headers))
        if "error" in reply:
            raise Refused("it reports an error")
        # A symbol that it does not know has every figure zero.
        if reply["c"] == 0 and reply["t"] == 0:
            return None
        return quote(
            entity,
            provider="Finnhub",
            url=PAGE + entity.symbol,
            symbol=entity.symbol,
            value=reply["c"],
            as_of=dates.epoch(reply["t"]),
            change=optional(reply.get("d")),
            change_percent=optional(reply.get("dp")),
        )
