"""Wikipedia: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

import pytest
from aiohttp import web

from services.runtime.errors import BadReply, Overloaded, Refused, Unauthenticated, Unavailable
from services.web.wikipedia import Wikipedia
from tests.simulator.client import ask
from tests.simulator.server import Simulator


async def test_search_and_extracts_are_one_request(simulator: Simulator) -> None:
    await ask(simulator, Wikipedia(), "intitle:canal  lock " + "x" * 400, max_results=50, language="de-AT")
    (asked,) = simulator.asked
    assert asked.path == "/w/api.php"
    assert asked.query["gsrsearch"] == "intitle canal lock"
    assert (asked.query["gsrlimit"], asked.query["exlimit"]) == ("20", "20")
    assert {"generator": "search", "exintro": "1", "explaintext": "1", "format": "json"}.items() <= asked.query.items()
    assert asked.headers["User-Agent"].startswith("lanemesh/")


async def test_pages_come_in_the_order_of_the_search_and_whole(simulator: Simulator) -> None:
    first, second = await ask(simulator, Wikipedia())
    document = first.document
    assert (document.id, document.title) == ("en.wikipedia.org/wiki/Canal_lock", "Canal lock")
    assert document.url == "https://en.wikipedia.org/wiki/Canal_lock"
    assert document.content.startswith("A canal lock raises")
    assert document.published_at.ToJsonString() == "2026-09-01T00:00:00Z"
    assert (document.language, document.licence) == ("en", "CC BY-SA 4.0, Wikipedia contributors")
    assert second.document.title == "Tidal lock gate"


async def test_nothing_found_is_empty(simulator: Simulator) -> None:
    assert await ask(simulator, Wikipedia(), "zyzzyva") == []


@pytest.mark.parametrize(
    ("code", "error"), [("ratelimited", Overloaded), ("maxlag", Unavailable), ("badvalue", Refused)]
)
async def test_an_error_in_the_body_is_an_error(simulator: Simulator, code: str, error: type[Exception]) -> None:
    simulator.replies["wikipedia"] = lambda *_: web.json_response({"error": {"code": code}})
    with pytest.raises(error):
        await ask(simulator, Wikipedia())


@pytest.mark.parametrize(
    ("fault", "error"),
    [("429", Overloaded), ("401", Unauthenticated), ("500", Unavailable), ("wrong-type", BadReply)],
)
async def test_faults_are_told_apart(simulator: Simulator, fault: str, error: type[Exception]) -> None:
    simulator.faults["wikipedia"] = fault
    with pytest.raises(error):
        await ask(simulator, Wikipedia())
