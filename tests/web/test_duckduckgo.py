"""DuckDuckGo: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

import pytest

from services.runtime.errors import BadReply
from services.web.duckduckgo import DuckDuckGo
from tests.simulator.client import ask
from tests.simulator.server import Simulator


async def test_the_request_asks_for_plain_json(simulator: Simulator) -> None:
    await ask(simulator, DuckDuckGo(), "canal lock")
    (asked,) = simulator.asked
    assert asked.path == "/"
    assert asked.query == {"q": "canal lock", "format": "json", "no_html": "1", "no_redirect": "1", "t": "lanemesh"}


async def test_abstract_official_sites_and_topics_that_lead_elsewhere(simulator: Simulator) -> None:
    found = await ask(simulator, DuckDuckGo())
    assert [each.document.url for each in found] == [
        "https://en.wikipedia.org/wiki/Lock_(water_navigation)",
        "https://locks.example.org/",
        "https://gates.example.org/mitre",
    ]
    assert found[0].document.licence == "Wikipedia through DuckDuckGo"
    assert found[2].document.title == "Mitre gate"
    assert {each.document.language for each in found} == {"en"}


async def test_nothing_found_is_empty(simulator: Simulator) -> None:
    assert await ask(simulator, DuckDuckGo(), "zyzzyva") == []


async def test_a_page_for_people_is_no_answer(simulator: Simulator) -> None:
    simulator.faults["duckduckgo"] = "wrong-type"
    with pytest.raises(BadReply):
        await ask(simulator, DuckDuckGo())
