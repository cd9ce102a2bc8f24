"""NewsAPI: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from aiohttp import web

from services.news.newsapi import CODES, NewsApi
from services.runtime.errors import Overloaded, Refused, Unauthenticated, Unavailable
from tests.simulator.client import ask
from tests.simulator.server import Simulator

ARTICLE = {
    "source": {"id": None, "name": "The <b>Daily</b> Lock"},
    "author": "Ada Quill",
    "title": "Canal reopens",
    "description": None,
    "url": "https://daily.example/canal?utm_source=x&id=7",
    "publishedAt": "2026-03-14T10:26:53+01:00",
    "content": "Boats pass again. [+2100 chars]",
}


async def test_words_dates_language_and_count_are_in_its_own_terms(simulator: Simulator) -> None:
    await ask(
        simulator,
        NewsApi(),
        "news of the canal -lock",
        max_results=500,
        language="ur-PK",
        published_after=datetime(2026, 3, 1, 23, 30, tzinfo=UTC),
        published_before=datetime(2026, 3, 8, tzinfo=UTC),
    )
    (asked,) = simulator.asked
    assert asked.path == "/v2/everything"
    assert asked.query == {
        "q": "canal AND lock",
        "language": "ud",
        "from": "2026-03-01T23:30:00",
        "to": "2026-03-08T00:00:00",
        "sortBy": "relevancy",
        "pageSize": "100",
    }
    assert asked.headers["X-Api-Key"] == "simulated"


async def test_the_longest_query_is_within_its_limit(simulator: Simulator) -> None:
    await ask(simulator, NewsApi(), " ".join(letter * 64 for letter in "abcdef"))
    assert 200 < len(simulator.asked[0].query["q"]) <= 500


async def test_a_language_it_does_not_keep_is_not_asked_for(simulator: Simulator) -> None:
    assert await ask(simulator, NewsApi(), language="ja") == ()
    assert simulator.asked == []


async def test_an_article_is_read_whole(simulator: Simulator) -> None:
    simulator.replies["newsapi"] = lambda *_: web.json_response({"status": "ok", "articles": [ARTICLE]})
    (found,) = await ask(simulator, NewsApi(), language="en-GB")
    document = found.document
    assert (document.id, document.title) == ("daily.example/canal?id=7", "Canal reopens")
    assert document.content == "Boats pass again."
    assert document.published_at.ToJsonString() == "2026-03-14T09:26:53Z"
    assert (document.author, document.language, document.source) == ("Ada Quill", "en", "news")
    assert document.licence == "© The Daily Lock, via NewsAPI.org"
    assert document.attributes["publisher"] == "The Daily Lock"


async def test_withdrawn_articles_are_left_out(simulator: Simulator) -> None:
    found = await ask(simulator, NewsApi())
    assert len(found) == 3
    assert all("Removed" not in each.document.title for each in found)


async def test_nothing_found_is_empty(simulator: Simulator) -> None:
    assert await ask(simulator, NewsApi(), "zyzzyva") == []


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("apiKeyInvalid", Unauthenticated),
        ("apiKeyExhausted", Overloaded),
        ("rateLimited", Overloaded),
        ("unexpectedError", Unavailable),
        ("parameterInvalid", Refused),
        (None, Refused),
    ],
)
async def test_an_error_in_the_body_is_an_error(simulator: Simulator, code: str | None, error: type[Exception]) -> None:
    simulator.replies["newsapi"] = lambda *_: web.json_response({"status": "error", "code": code})
    with pytest.raises(error):
        await ask(simulator, NewsApi())


def test_every_documented_code_that_is_no_mistake_of_the_request_has_a_name() -> None:
    documented = {"apiKeyDisabled", "apiKeyExhausted", "apiKeyInvalid", "apiKeyMissing", "rateLimited"}
    assert CODES.keys() == documented | {"unexpectedError"}
