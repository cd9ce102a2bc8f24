"""Financial Modeling Prep: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

import pytest
from aiohttp import web

from services.markets.fmp import Fmp
from services.providers.provider import Entity
from services.runtime.errors import BadReply, Overloaded, Refused, Unauthenticated
from tests.markets.entities import APPLE, BERKSHIRE, EURO, GOLD, INDEX, UNKNOWN
from tests.simulator.client import ask
from tests.simulator.server import Simulator


async def test_the_key_travels_in_a_header(simulator: Simulator) -> None:
    await ask(simulator, Fmp(), entities=(APPLE,))
    (asked,) = simulator.asked
    assert (asked.path, asked.query) == ("/stable/quote", {"symbol": "AAPL"})
    assert asked.headers["apikey"] == "simulated"


async def test_a_quote_comes_whole(simulator: Simulator) -> None:
    (found,) = await ask(simulator, Fmp(), entities=(APPLE,))
    quote = found.quote
    assert (quote.symbol, quote.value, quote.currency, quote.volume) == ("AAPL", 231.55, "USD", 48120331)
    assert (quote.change, quote.change_percent) == (1.45, 0.63016)
    assert quote.as_of.ToJsonString() == "2026-09-01T16:00:00Z"
    assert found.document.id == "financialmodelingprep.com/stable/quote?symbol=AAPL"


@pytest.mark.parametrize(
    ("entity", "symbol", "instrument", "currency", "said"),
    [
        (BERKSHIRE, "BRK-B", "TICKER", "USD", "498.20 USD"),
        (INDEX, "^GSPC", "INDEX", "", "6,480.25 points"),
        (GOLD, "GCUSD", "COMMODITY", "USD", "3,520.40 USD per troy ounce"),
        (EURO, "EURUSD", "CURRENCY", "USD", "1.1641 USD"),
    ],
)
async def test_everything_has_its_symbol_and_unit(
    simulator: Simulator, entity: Entity, symbol: str, instrument: str, currency: str, said: str
) -> None:
    (found,) = await ask(simulator, Fmp(), entities=(entity,))
    assert simulator.asked[0].query["symbol"] == symbol
    assert (found.quote.instrument, found.quote.currency) == (instrument, currency)
    assert said in found.document.content


async def test_a_symbol_that_it_does_not_know_is_no_evidence(simulator: Simulator) -> None:
    assert await ask(simulator, Fmp(), entities=(UNKNOWN,)) == []


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("Limit Reach . Please upgrade your plan.", Overloaded),
        ("Invalid API KEY. Please retry.", Unauthenticated),
        ("Exclusive Endpoint: not available under your current subscription.", Unauthenticated),
        ("something else", Refused),
    ],
)
async def test_errors_with_status_200_are_errors(simulator: Simulator, message: str, error: type[Exception]) -> None:
    simulator.replies["fmp"] = lambda *_: web.json_response({"Error Message": message})
    with pytest.raises(error):
        await ask(simulator, Fmp(), entities=(APPLE,))


@pytest.mark.parametrize("wrong", [{"price": 0}, {"price": None}, {"timestamp": None}, {"timestamp": -1}])
async def test_what_cannot_be_is_a_bad_reply(simulator: Simulator, wrong: dict[str, object]) -> None:
    row = {"symbol": "AAPL", "price": 231.55, "timestamp": 1788278400} | wrong
    simulator.replies["fmp"] = lambda *_: web.json_response([row])
    with pytest.raises(BadReply):
        await ask(simulator, Fmp(), entities=(APPLE,))
