"""A price as evidence: checked, typed, and said in one sentence."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from lanemesh.v1.evidence_pb2 import Evidence, QuoteDetail

from services.markets.instruments import COMMODITY, COMPANY, INDEX, TICKER, by_symbol
from services.markets.listing import listing_of
from services.providers import evidence
from services.providers.provider import Entity
from services.runtime.errors import BadReply

SOURCE = "financial"
# Beyond these a number or a date is a mistake of its source.
HIGHEST = 1e12
EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
AHEAD = timedelta(days=1)


def is_share(entity: Entity) -> bool:
    """Whether the entity is quoted as a share."""
    return entity.kind in (TICKER, COMPANY)


def number(value: object) -> float:
    """A finite number, from a number or its text; BadReply for anything else."""
    try:
        read = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except ValueError:
        read = math.nan
    if not math.isfinite(read):
        raise BadReply("the reply holds no number where one belongs")
    return read


def optional(value: object) -> float | None:
    """The same for what may be missing."""
    return None if value in (None, "", "N/D", "None") else number(value)


def quote(
    entity: Entity,
    *,
    provider: str,
    url: str,
    symbol: str,
    value: object,
    as_of: datetime | None,
    change: float | None = None,
    change_percent: float | None = None,
    volume: float | None = None,
) -> Evidence:
    """The evidence of one price; BadReply when price or time cannot be true."""
    detail = QuoteDetail(
        symbol=evidence.plain(symbol),
        instrument=TICKER if is_share(entity) else entity.kind,
        value=_price(value),
        currency=currency_of(entity),
        change=change,
        change_percent=change_percent,
        volume=volume if volume is None or volume >= 0 else None,
    )
    moment = _sane(as_of)
    detail.as_of.FromDatetime(moment)
    title = f"{_label(entity)}: {_amount(detail.value)} {_unit(entity)}".rstrip()
    found = evidence.page(url, title, _sentence(entity, detail, moment, provider), published_at=moment, source=SOURCE)
    found.kind = "quote"
    found.quote.CopyFrom(detail)
    found.entities.append(entity.name or entity.symbol)
    return found


def currency_of(entity: Entity) -> str:
    """ISO 4217 code of its prices; empty when it is not known or when it counts in points."""
    if is_share(entity):
        return listing_of(entity.symbol).currency
    if entity.kind in (COMMODITY, INDEX):
        return by_symbol(entity.kind)[entity.symbol].currency
    return entity.symbol.partition("/")[2]


def _price(value: object) -> float:
    price = number(value)
    if not 0.0 < price < HIGHEST:
        raise BadReply("the reply holds a price that cannot be")
    return price


def _sane(moment: datetime | None) -> datetime:
    if moment is None or not EARLIEST <= moment <= datetime.now(UTC) + AHEAD:
        raise BadReply("the reply holds a time that cannot be")
    return moment


def _label(entity: Entity) -> str:
    return f"{entity.name} ({entity.symbol})" if entity.name else entity.symbol


def _unit(entity: Entity) -> str:
    if entity.kind == INDEX:
        return "points"
    return by_symbol(COMMODITY)[entity.symbol].unit if entity.kind == COMMODITY else currency_of(entity)


def _sentence(entity: Entity, detail: QuoteDetail, moment: datetime, provider: str) -> str:
    # A source that gives only the day of trading is read as midnight.
    when = f"{moment:%Y-%m-%d}" if moment.hour == moment.minute == 0 else f"{moment:%Y-%m-%d at %H:%M} UTC"
    said = f"{_label(entity)} was quoted at {_amount(detail.value)} {_unit(entity)}".rstrip() + f" on {when}"
    if detail.HasField("change"):
        said += f", {detail.change:+,.2f} since the previous close"
    if detail.HasField("change_percent"):
        said += f" ({detail.change_percent:+.2f} %)"
    if detail.HasField("volume"):
        said += f", with a volume of {detail.volume:,.0f}"
    return f"{said}, according to {provider}."


def _amount(value: float) -> str:
    """With two decimals, or as many as a small value needs."""
    return f"{value:,.2f}" if value >= 100 else f"{value:,.6g}"
