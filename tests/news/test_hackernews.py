"""Hacker News: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from aiohttp import web

from services.news.hackernews import HackerNews
from services.runtime.errors import Refused
from tests.simulator.client import ask
from tests.simulator.server import Simulator


async def test_words_dates_and_count_are_in_its_own_terms(simulator: Simulator) -> None:
    await ask(
        simulator,
        HackerNews(),
        "the latest on canal lock",
        max_results=500,
        language="en-US",
        published_after=datetime(2026, 3, 1, tzinfo=UTC),
        published_before=datetime(2026, 3, 8, tzinfo=UTC),
    )
    (asked,) = simulator.asked
    assert asked.path == "/api/v1/search"
    assert asked.query == {
        "query": "canal lock",
        "tags": "story",
        "hitsPerPage": "100",
        "numericFilters": "created_at_i>=1772323200,created_at_i<1772928000",
    }


async def test_no_bound_is_no_filter(simulator: Simulator) -> None:
    await ask(simulator, HackerNews())
    assert "numericFilters" not in simulator.asked[0].query


async def test_other_languages_are_not_asked_for(simulator: Simulator) -> None:
    assert await ask(simulator, HackerNews(), language="de") == ()
    assert simulator.asked == []


async def test_a_link_and_a_post_of_its_own_are_told_apart(simulator: Simulator) -> None:
    *links, post = await ask(simulator, HackerNews())
    link = links[0].document
    assert (link.id, link.author, link.content) == ("papers.example/oldest-lock", "", "")
    assert link.attributes["submitted_by"] == "lockkeeper"
    assert link.attributes["discussion"] == "https://news.ycombinator.com/item?id=41000030"
    own = post.document
    assert (own.id, own.author) == ("news.ycombinator.com/item?id=41000001", "gatekeeper")
    assert own.content == "I keep a canal lock and would like the gates to open by themselves."
    assert (own.language, own.source, own.licence) == ("en", "news", "Found by Hacker News, search by Algolia")


async def test_the_date_is_that_of_the_submission(simulator: Simulator) -> None:
    hit = {"objectID": "7", "title": "Canal", "url": "https://a.example/", "created_at_i": 1773480413}
    simulator.replies["hackernews"] = lambda *_: web.json_response({"hits": [hit, {"objectID": "8", "title": None}]})
    (found,) = await ask(simulator, HackerNews())
    assert found.document.published_at.ToJsonString() == "2026-03-14T09:26:53Z"


async def test_nothing_found_is_empty(simulator: Simulator) -> None:
    assert await ask(simulator, HackerNews(), "zyzzyva") == []


async def test_a_refusal_is_an_error(simulator: Simulator) -> None:
    simulator.replies["hackernews"] = lambda *_: web.json_response({"status": 400, "message": "bad"}, status=400)
    with pytest.raises(Refused):
        await ask(simulator, HackerNews())
