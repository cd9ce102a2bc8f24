"""Entities as the finder makes them, for tests of providers."""

from __future__ import annotations

from services.markets.finder import find
from services.providers.provider import Entity


def entity(query: str) -> Entity:
    """The one entity of a query."""
    (found,) = find(query)
    return found.entity


APPLE = entity("Apple stock")
BERKSHIRE = entity("BRK.B")
SAP = entity("SAP.DE")
EURO = entity("EUR/USD")
INDEX = entity("S&P 500")
GOLD = entity("gold price")
UNKNOWN = entity("$ZZZZ")
