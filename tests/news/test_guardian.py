"""The Guardian: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from aiohttp import web

from services.news.guardian import Guardian
from services.runtime.errors import Refused, Unauthenticated
from tests.simulator.client import ask
from tests.simulator.server import Simulator

ITEM = {
    "webPublicationDate": "2026-03-14T09:26:53Z",
    "webTitle": "Canal &amp; lock",
    "webUrl": "https://www.theguardian.com/a/b?CMP=x#top",
    "fields": {"trailText": f"<p>Gates <b>open</b>. {'Water flows. ' * 40}</p>", "byline": "Ada Quill", "lang": "en"},
}


async def test_words_dates_language_and_count_are_in_its_own_terms(simulator: Simulator) -> None:
    await ask(
        simulator,
        Guardian(),
        'What is the latest news on "canal" OR lock?',
        max_results=80,
        language="fr-CA",
        published_after=datetime(2026, 3, 1, 23, 30, tzinfo=UTC),
        published_before=datetime(2026, 3, 8, tzinfo=UTC),
    )
    (asked,) = simulator.asked
    assert asked.path == "/search"
    assert asked.query == {
        "q": "canal AND lock",
        "order-by": "relevance",
        "use-date": "published",
        "from-date": "2026-03-01",
        "to-date": "2026-03-08",
        "lang": "fr",
        "page-size": "50",
        "show-fields": "trailText,byline,lang",
        "api-key": "simulated",
    }


async def test_what_is_not_asked_for_is_left_out(simulator: Simulator) -> None:
    await ask(simulator, Guardian())
    assert not {"from-date", "to-date", "lang"} & simulator.asked[0].query.keys()


async def test_an_article_is_read_whole_and_quoted_fairly(simulator: Simulator) -> None:
    simulator.replies["guardian"] = lambda *_: web.json_response({"response": {"status": "ok", "results": [ITEM]}})
    (found,) = await ask(simulator, Guardian())
    document = found.document
    assert (document.id, document.title) == ("theguardian.com/a/b?CMP=x", "Canal & lock")
    assert document.content.startswith("Gates open. Water flows.")
    assert len(document.content) <= 200
    assert document.published_at.ToJsonString() == "2026-03-14T09:26:53Z"
    assert (document.author, document.language, document.source) == ("Ada Quill", "en", "news")
    assert document.licence.startswith("© Guardian News & Media")


async def test_nothing_found_is_empty(simulator: Simulator) -> None:
    assert await ask(simulator, Guardian(), "zyzzyva") == []


async def test_an_error_in_the_body_is_an_error(simulator: Simulator) -> None:
    reply = {"response": {"status": "error", "message": "page-size must be smaller"}}
    simulator.replies["guardian"] = lambda *_: web.json_response(reply)
    with pytest.raises(Refused):
        await ask(simulator, Guardian())


async def test_a_key_it_does_not_take_is_told_apart(simulator: Simulator) -> None:
    simulator.replies["guardian"] = lambda *_: web.json_response({"message": "Unauthorized"}, status=401)
    with pytest.raises(Unauthenticated):
        await ask(simulator, Guardian())
