"""GDELT: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from aiohttp import web

from services.news.gdelt import LANGUAGES, Gdelt
from services.runtime.errors import BadReply
from tests.simulator.client import ask
from tests.simulator.server import Simulator

ARTICLE = {
    "url": "https://www.diario.example/canal/",
    "url_mobile": "https://m.diario.example/canal/",
    "title": "El canal : reabre la  esclusa , dicen",
    "seendate": "20260314T092653Z",
    "domain": "diario.example",
    "language": "Spanish",
    "sourcecountry": "Mexico",
}


async def test_words_dates_language_and_count_are_in_its_own_terms(simulator: Simulator) -> None:
    await ask(
        simulator,
        Gdelt(),
        "latest UK canal-lock sourcelang:french",
        language="de-AT",
        max_results=100,
        published_after=datetime(2026, 3, 1, 23, 30, tzinfo=UTC),
        published_before=datetime(2026, 3, 8, tzinfo=UTC),
    )
    (asked,) = simulator.asked
    assert asked.path == "/api/v2/doc/doc"
    assert asked.query == {
        "query": "canal lock sourcelang french sourcelang:german",
        "mode": "artlist",
        "format": "json",
        "sort": "hybridrel",
        "maxrecords": "250",
        "startdatetime": "20260301233000",
        "enddatetime": "20260308000000",
    }


@pytest.mark.parametrize(("query", "language"), [("canal lock", "xx"), ("EU", ""), ("?!", "en")])
async def test_what_it_cannot_look_for_is_not_asked(simulator: Simulator, query: str, language: str) -> None:
    assert await ask(simulator, Gdelt(), query, language=language) == ()
    assert simulator.asked == []


async def test_an_article_is_read_whole(simulator: Simulator) -> None:
    simulator.replies["gdelt"] = lambda *_: web.json_response({"articles": [ARTICLE]})
    (found,) = await ask(simulator, Gdelt())
    document = found.document
    assert (document.id, document.title) == ("diario.example/canal", "El canal: reabre la esclusa, dicen")
    assert document.published_at.ToJsonString() == "2026-03-14T09:26:53Z"
    assert (document.content, document.language, document.source) == ("", "es", "news")
    assert "GDELT Project" in document.licence


async def test_copies_of_one_story_are_one_result(simulator: Simulator) -> None:
    found = await ask(simulator, Gdelt(), max_results=3)
    assert [each.document.id for each in found] == [
        "papers.example/merrow-lock-reopens",
        "papers.example/oldest-lock",
        "papers.example/lock-fees",
    ]
    assert list(found[1].corroborated_by) == ["daily.example/oldest-lock", "evening.example/oldest-lock"]


async def test_nothing_found_is_empty(simulator: Simulator) -> None:
    assert await ask(simulator, Gdelt(), "zyzzyva") == []


async def test_a_complaint_in_plain_words_is_an_error(simulator: Simulator) -> None:
    simulator.replies["gdelt"] = lambda *_: web.Response(text="Timespan is too short.", content_type="text/html")
    with pytest.raises(BadReply):
        await ask(simulator, Gdelt())


def test_every_language_has_a_tag_and_a_name_of_its_own() -> None:
    assert len(set(LANGUAGES.values())) == len(LANGUAGES)
    assert all(len(tag) == 2 and name.isalpha() for tag, name in LANGUAGES.items())
