"""Stooq: the last price of shares, indices, currencies and commodities as one line of CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from lanemesh.v1.evidence_pb2 import Evidence
from yarl import URL

from services.markets import instruments
from services.markets.instruments import CURRENCY
from services.markets.listing import listing_of
from services.markets.quote import is_share, optional, quote
from services.providers.http import Get, Http
from services.providers.provider import Base, Entity, Profile, Question
from services.runtime.errors import BadReply, Overloaded, Refused

PAGE = URL("https://stooq.com/q/")
FIELDS = "sd2t2ohlcv"
COLUMNS = {"Symbol", "Date", "Time", "Close", "Volume"}
SUFFIXES = {"": "us", "L": "uk", "DE": "de", "T": "jp", "HK": "hk", "BU": "hu"}
NOT_AVAILABLE = "N/D"
# Its dates and times are those of Warsaw.
ZONE = ZoneInfo("Europe/Warsaw")


class Stooq:
    """Everything it has a symbol for, delayed."""

    profile = Profile(name="stooq", bases=(Base("LANEMESH_STOOQ_URL", "https://stooq.com"),))

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """The quote of each entity it covers."""
        spelled = [(entity, symbol) for entity in question.entities if (symbol := _symbol(entity))]
        return [found for entity, symbol in spelled if (found := await self._quote(entity, symbol, http))]

    async def _quote(self, entity: Entity, symbol: str, http: Http) -> Evidence | None:
        parameters = {"s": symbol, "f": FIELDS, "h": "", "e": "csv"}
        row = _row(await http.text(Get("/q/l/", params=parameters, types=("text/html",))))
        # No price is no evidence.
        if row is None or NOT_AVAILABLE in (row["Close"], row["Date"]):
            return None
        return quote(
            entity,
            provider="Stooq",
            url=str(PAGE.with_query(s=symbol)),
            symbol=row["Symbol"],
            value=row["Close"],
            as_of=_moment(row["Date"], row["Time"]),
            volume=optional(row["Volume"]),
        )


def _symbol(entity: Entity) -> str:
    """Its spelling of a symbol; empty when it has none."""
    if entity.kind == CURRENCY:
        return entity.symbol.replace("/", "").lower()
    if not is_share(entity):
        return instruments.by_symbol(entity.kind)[entity.symbol].codes.get("stooq", "")
    listing = listing_of(entity.symbol)
    if listing.suffix not in SUFFIXES:
        return ""
    return f"{listing.root.replace('.', '-')}.{SUFFIXES[listing.suffix]}".lower()


def _row(text: str) -> Mapping[str, str] | None:
    """The one line of a reply; errors come with status 200 and a sentence or a page in place of it."""
    if "daily hits limit" in text:
        raise Overloaded("its daily limit is reached")
    if text.lstrip().startswith("<"):
        raise Refused("it answers with a page for browsers")
    if text.strip() in ("", "No data"):
        return None
    row = next(csv.DictReader(text.splitlines()), None)
    if row is None or not row.keys() >= COLUMNS or any(row[column] is None for column in COLUMNS):
        raise BadReply("the reply has other columns than were asked for")
    return row


def _moment(date: str, time: str) -> datetime | None:
    try:
        return (
            datetime.fromisoformat(f"{date}T{time if time != NOT_AVAILABLE else '00:00:00'}")
            .replace(tzinfo=UTC if time == NOT_AVAILABLE else ZONE)
            .astimezone(UTC)
        )
    except (ValueError, OverflowError):
        return None
