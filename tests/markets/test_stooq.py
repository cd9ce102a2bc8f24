"""Stooq: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

import pytest
from aiohttp import web

from services.markets.stooq import Stooq
from services.providers.provider import Entity
from services.runtime.errors import BadReply, Overloaded, Refused
from tests.markets.entities import APPLE, BERKSHIRE, EURO, GOLD, INDEX, UNKNOWN, entity
from tests.simulator.client import ask
from tests.simulator.server import Simulator
from tests.simulator.stooq import HEADER


def replying(simulator: Simulator, text: str, kind: str = "text/csv") -> None:
    simulator.replies["stooq"] = lambda *_: web.Response(text=text, content_type=kind)


async def test_one_line_of_csv_is_asked_for(simulator: Simulator) -> None:
    await ask(simulator, Stooq(), entities=(APPLE,))
    (asked,) = simulator.asked
    assert (asked.path, asked.query) == ("/q/l/", {"s": "aapl.us", "f": "sd2t2ohlcv", "h": "", "e": "csv"})


async def test_a_quote_comes_whole_and_in_utc(simulator: Simulator) -> None:
    (found,) = await ask(simulator, Stooq(), entities=(APPLE,))
    quote = found.quote
    assert (quote.symbol, quote.value, quote.currency, quote.volume) == ("AAPL.US", 231.5, "USD", 48120331)
    assert quote.as_of.ToJsonString() == "2026-09-01T20:00:08Z"
    assert found.document.published_at == quote.as_of
    assert found.document.id == "stooq.com/q?s=aapl.us"


async def test_winter_time_is_told_from_summer_time(simulator: Simulator) -> None:
    (found,) = await ask(simulator, Stooq(), entities=(GOLD,))
    assert found.quote.as_of.ToJsonString() == "2026-01-15T15:05:31Z"
    assert not found.quote.HasField("volume")


@pytest.mark.parametrize(
    ("asked", "symbol"),
    [
        (BERKSHIRE, "brk-b.us"),
        (INDEX, "^spx"),
        (EURO, "eurusd"),
        (entity("HSBA.L"), "hsba.uk"),
        (entity("7203.T"), "7203.jp"),
        (entity("SIE.DE"), "sie.de"),
    ],
)
async def test_symbols_have_the_suffix_of_their_market(simulator: Simulator, asked: Entity, symbol: str) -> None:
    await ask(simulator, Stooq(), entities=(asked,))
    assert simulator.asked[0].query["s"] == symbol


async def test_an_exchange_that_it_does_not_cover_is_not_asked_for(simulator: Simulator) -> None:
    assert await ask(simulator, Stooq(), entities=(entity("MC.PA"),)) == []
    assert simulator.asked == []


@pytest.mark.parametrize("text", ["", "No data", f"{HEADER}\r\nZZZZ.US,2026-09-01,N/D,N/D,N/D,N/D,N/D,N/D\r\n"])
async def test_no_price_is_no_evidence(simulator: Simulator, text: str) -> None:
    assert await ask(simulator, Stooq(), entities=(UNKNOWN,)) == []
    replying(simulator, text)
    assert await ask(simulator, Stooq(), entities=(APPLE,)) == []


@pytest.mark.parametrize("kind", ["text/plain", "text/html"])
async def test_its_daily_limit_is_a_rate_limit(simulator: Simulator, kind: str) -> None:
    replying(simulator, "Exceeded the daily hits limit", kind)
    with pytest.raises(Overloaded):
        await ask(simulator, Stooq(), entities=(APPLE,))


async def test_a_page_for_browsers_is_a_refusal(simulator: Simulator) -> None:
    replying(simulator, "<!doctype html><script>verify()</script>", "text/html")
    with pytest.raises(Refused):
        await ask(simulator, Stooq(), entities=(APPLE,))


@pytest.mark.parametrize(
    "text",
    [
        "Something went wrong",
        f"{HEADER}\r\nAAPL.US,2026-09-01\r\n",
        f"{HEADER}\r\nAAPL.US,2026-09-01,22:00:08,1,1,1,0,1\r\n",
        f"{HEADER}\r\nAAPL.US,2026-09-01,22:00:08,1,1,1,-2,1\r\n",
        f"{HEADER}\r\nAAPL.US,2026-09-01,22:00:08,1,1,1,x,1\r\n",
        f"{HEADER}\r\nAAPL.US,2199-09-01,22:00:08,1,1,1,2,1\r\n",
        f"{HEADER}\r\nAAPL.US,32 May,22:00:08,1,1,1,2,1\r\n",
    ],
)
async def test_what_cannot_be_is_a_bad_reply(simulator: Simulator, text: str) -> None:
    replying(simulator, text)
    with pytest.raises(BadReply):
        await ask(simulator, Stooq(), entities=(APPLE,))
