"""Finnhub: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

import pytest
from aiohttp import web

from services.markets.finnhub import Finnhub
from services.runtime.errors import BadReply, Refused
from tests.markets.entities import APPLE, BERKSHIRE, EURO, GOLD, INDEX, SAP, UNKNOWN
from tests.simulator import finnhub
from tests.simulator.client import ask
from tests.simulator.server import Simulator


async def test_the_key_travels_in_a_header(simulator: Simulator) -> None:
    await ask(simulator, Finnhub(), entities=(BERKSHIRE,))
    (asked,) = simulator.asked
    assert (asked.path, asked.query) == ("/api/v1/quote", {"symbol": "BRK.B"})
    assert asked.headers["X-Finnhub-Token"] == "simulated"


async def test_a_quote_comes_whole(simulator: Simulator) -> None:
    (found,) = await ask(simulator, Finnhub(), entities=(APPLE,))
    quote = found.quote
    assert (quote.symbol, quote.value, quote.currency, quote.change, quote.change_percent) == (
        "AAPL",
        231.62,
        "USD",
        1.52,
        0.6606,
    )
    assert quote.as_of.ToJsonString() == "2026-09-01T16:00:00Z"
    assert not quote.HasField("volume")
    assert found.document.id == "finnhub.io/api/v1/quote?symbol=AAPL"
    assert "on 2026-09-01 at 16:00 UTC" in found.document.content


async def test_a_share_that_it_does_not_know_is_no_evidence(simulator: Simulator) -> None:
    assert await ask(simulator, Finnhub(), entities=(UNKNOWN,)) == []


async def test_what_it_does_not_cover_is_not_asked_for(simulator: Simulator) -> None:
    assert await ask(simulator, Finnhub(), entities=(SAP, EURO, INDEX, GOLD)) == []
    assert simulator.asked == []


@pytest.mark.parametrize("wrong", [{"c": 0}, {"c": -1.0}, {"c": None}, {"c": True}, {"t": 0}, {"t": 9e15}, {"t": "x"}])
async def test_what_cannot_be_is_a_bad_reply(simulator: Simulator, wrong: dict[str, object]) -> None:
    simulator.replies["finnhub"] = lambda *_: web.json_response(finnhub.QUOTES["AAPL"] | wrong)
    with pytest.raises(BadReply):
        await ask(simulator, Finnhub(), entities=(APPLE,))


async def test_an_error_in_the_body_is_an_error(simulator: Simulator) -> None:
    simulator.replies["finnhub"] = lambda *_: web.json_response({"error": "Symbol not supported"})
    with pytest.raises(Refused):
        await ask(simulator, Finnhub(), entities=(APPLE,))
