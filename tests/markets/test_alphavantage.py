"""Alpha Vantage: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

import pytest
from aiohttp import web

from services.markets.alphavantage import AlphaVantage
from services.providers.provider import Entity
from services.runtime.errors import BadReply, Overloaded, Refused, Unauthenticated
from tests.markets.entities import APPLE, BERKSHIRE, EURO, GOLD, INDEX, SAP, UNKNOWN
from tests.simulator import alphavantage
from tests.simulator.client import ask
from tests.simulator.server import Simulator

LIMIT = "Please consider spreading out your free API requests. Subscribe to lift the free key rate limit (25 a day)."


async def test_a_share_is_asked_for_by_its_symbol(simulator: Simulator) -> None:
    await ask(simulator, AlphaVantage(), entities=(APPLE,))
    (asked,) = simulator.asked
    assert (asked.path, asked.query) == (
        "/query",
        {"function": "GLOBAL_QUOTE", "symbol": "AAPL", "apikey": "simulated"},
    )


async def test_a_quote_comes_whole(simulator: Simulator) -> None:
    (found,) = await ask(simulator, AlphaVantage(), entities=(APPLE,))
    quote = found.quote
    assert (quote.symbol, quote.instrument, quote.value, quote.currency) == ("AAPL", "TICKER", 231.4, "USD")
    assert (quote.change, quote.change_percent, quote.volume) == (1.3, 0.565, 48120331)
    assert quote.as_of.ToJsonString() == "2026-09-01T00:00:00Z"
    assert (found.kind, list(found.entities)) == ("quote", ["Apple"])
    assert found.document.id == "alphavantage.co/query?function=GLOBAL_QUOTE&symbol=AAPL"
    assert found.document.content == (
        "Apple (AAPL) was quoted at 231.40 USD on 2026-09-01, +1.30 since the previous close (+0.56 %), "
        "with a volume of 48,120,331, according to Alpha Vantage."
    )


async def test_a_rate_comes_with_its_time(simulator: Simulator) -> None:
    (found,) = await ask(simulator, AlphaVantage(), entities=(EURO,))
    assert (found.quote.symbol, found.quote.instrument) == ("EUR/USD", "CURRENCY")
    assert (found.quote.value, found.quote.currency) == (1.1642, "USD")
    assert found.quote.as_of.ToJsonString() == "2026-09-01T14:05:31Z"
    assert not found.quote.HasField("change")


@pytest.mark.parametrize(("entity", "symbol"), [(BERKSHIRE, "BRK-B"), (SAP, "SAP.DEX")])
async def test_symbols_are_in_its_own_spelling(simulator: Simulator, entity: Entity, symbol: str) -> None:
    (found,) = await ask(simulator, AlphaVantage(), entities=(entity,))
    assert found.quote.symbol == simulator.asked[0].query["symbol"] == symbol


async def test_a_share_that_it_does_not_know_is_no_evidence(simulator: Simulator) -> None:
    assert await ask(simulator, AlphaVantage(), entities=(UNKNOWN,)) == []


async def test_what_it_does_not_cover_is_not_asked_for(simulator: Simulator) -> None:
    assert await ask(simulator, AlphaVantage(), entities=(INDEX, GOLD)) == []
    assert simulator.asked == []


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ({"Note": "Our standard API call frequency is 5 calls per minute."}, Overloaded),
        ({"Information": LIMIT}, Overloaded),
        ({"Information": "This is a premium endpoint."}, Unauthenticated),
        ({"Error Message": "the parameter apikey is invalid or missing."}, Unauthenticated),
        ({"Error Message": "Invalid API call."}, Refused),
    ],
)
async def test_errors_with_status_200_are_errors(
    simulator: Simulator, reply: dict[str, str], error: type[Exception]
) -> None:
    simulator.replies["alphavantage"] = lambda *_: web.json_response(reply)
    with pytest.raises(error):
        await ask(simulator, AlphaVantage(), entities=(APPLE,))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("05. price", "0.0000"),
        ("05. price", "-3"),
        ("05. price", "NaN"),
        ("05. price", "1e400"),
        ("05. price", "soon"),
        ("05. price", None),
        ("07. latest trading day", "2199-01-01"),
        ("07. latest trading day", "0001-01-01"),
        ("07. latest trading day", "yesterday"),
        ("09. change", "inf"),
    ],
)
async def test_what_cannot_be_is_a_bad_reply(simulator: Simulator, field: str, value: str | None) -> None:
    row = alphavantage._quote("AAPL") | {field: value}
    simulator.replies["alphavantage"] = lambda *_: web.json_response({"Global Quote": row})
    with pytest.raises(BadReply):
        await ask(simulator, AlphaVantage(), entities=(APPLE,))
