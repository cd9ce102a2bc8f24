"""SerpAPI: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from aiohttp import web

from services.runtime.errors import Refused, Unauthenticated
from services.web.serpapi import SerpApi
from tests.simulator.client import ask
from tests.simulator.server import Simulator


async def test_constraints_are_put_into_its_own_terms(simulator: Simulator) -> None:
    await ask(
        simulator,
        SerpApi(),
        "canal lock",
        max_results=50,
        language="fr-CA",
        published_after=datetime(2024, 1, 2, tzinfo=UTC),
        sites=("bbc.com",),
    )
    (asked,) = simulator.asked
    assert asked.path == "/search.json"
    assert asked.query == {
        "engine": "google",
        "q": "canal lock (site:bbc.com)",
        "num": "20",
        "hl": "fr",
        "lr": "lang_fr",
        "gl": "ca",
        "tbs": "cdr:1,cd_min:01/02/2024",
        "api_key": "simulated",
    }


async def test_results_are_read(simulator: Simulator) -> None:
    first, second = await ask(simulator, SerpApi())
    assert first.document.id == "navigation.example.com/lock"
    assert first.document.published_at.ToJsonString() == "2026-03-03T00:00:00Z"
    assert not second.document.HasField("published_at")
    assert second.document.source == "news"


async def test_the_error_that_stands_for_no_results_is_empty(simulator: Simulator) -> None:
    assert await ask(simulator, SerpApi(), "zyzzyva") == []


async def test_any_other_error_is_one(simulator: Simulator) -> None:
    simulator.replies["serpapi"] = lambda *_: web.json_response({"error": "Your searches for the month are used up."})
    with pytest.raises(Refused) as caught:
        await ask(simulator, SerpApi())
    assert "month" not in str(caught.value)
    simulator.faults["serpapi"] = "401"
    with pytest.raises(Unauthenticated):
        await ask(simulator, SerpApi())
