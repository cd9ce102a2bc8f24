"""Feeds as a provider: which are read, how often, and which entries answer a question."""

from __future__ import annotations

import pytest

from services.news.rss import FEEDS, Rss
from services.providers.provider import Question
from services.providers.settings import Access, ProviderSettings
from services.runtime.deadline import Deadline
from services.runtime.errors import Unavailable
from tests.simulator.client import PATIENCE, ask, ask_with
from tests.simulator.server import Simulator

SETTINGS = ProviderSettings(allowed=("127.0.0.1/32",))


async def ask_feeds(rss: Rss, feeds: str, query: str = "canal lock") -> list[str]:
    access = Access(rss.profile, {FEEDS: feeds})
    found = await ask_with(SETTINGS, access, rss, Question(query, 10), Deadline.after(PATIENCE))
    return [evidence.document.id for evidence in found]


@pytest.mark.parametrize("path", ["rss", "rss/atom"])
async def test_entries_are_matched_by_words_in_the_order_of_fit_then_age(simulator: Simulator, path: str) -> None:
    found = await ask_feeds(Rss(), f"{simulator.url}/{path}")
    assert found == ["papers.example/merrow-lock-reopens", "papers.example/oldest-lock", "papers.example/lock-fees"]


async def test_a_fuller_match_stands_before_a_newer_one(simulator: Simulator) -> None:
    found = await ask_feeds(Rss(), f"{simulator.url}/rss", "what do lock fees mean for canal freight?")
    assert found[0] == "papers.example/lock-fees"


@pytest.mark.parametrize("query", ["zyzzyva", "bread lock", "?!"])
async def test_nothing_found_is_empty(simulator: Simulator, query: str) -> None:
    assert await ask(simulator, Rss(), query) == []


async def test_an_answer_belongs_to_its_reader(simulator: Simulator) -> None:
    rss = Rss(fresh_seconds=60)
    first = await ask(simulator, rss)
    first[0].document.title = "changed"
    assert (await ask(simulator, rss))[0].document.title.startswith("Canal lock at Merrow")


async def test_a_feed_is_read_again_only_when_it_is_old(simulator: Simulator) -> None:
    now = 0.0
    rss = Rss(fresh_seconds=300, clock=lambda: now)
    feeds = f"{simulator.url}/rss, {simulator.url}/rss/atom"
    for moment, requests in ((0.0, 2), (299.0, 2), (300.0, 4)):
        now = moment
        assert len(await ask_feeds(rss, feeds)) == 6
        assert len(simulator.asked) == requests


async def test_one_bad_feed_does_not_cost_the_others_and_is_left_alone(simulator: Simulator) -> None:
    rss = Rss(fresh_seconds=300, clock=lambda: 0.0)
    feeds = f"{simulator.url}/fault/laughs/rss,{simulator.url}/rss"
    assert len(await ask_feeds(rss, feeds)) == 3
    assert len(await ask_feeds(rss, feeds)) == 3
    assert len(simulator.asked) == 2


async def test_failed_is_not_shown_as_empty(simulator: Simulator) -> None:
    rss = Rss(fresh_seconds=300, clock=lambda: 0.0)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await ask_feeds(rss, f"{simulator.url}/fault/500/rss,{simulator.url}/fault/laughs/rss")
    assert len(simulator.asked) == 2


async def test_a_failing_feed_is_logged_by_its_host_alone(
    simulator: Simulator, caplog: pytest.LogCaptureFixture
) -> None:
    assert await ask_feeds(Rss(), f"{simulator.url}/rss,{simulator.url}/fault/laughs/rss?token=s3cret", "zyzzyva") == []
    assert "a feed of 127.0.0.1 could not be read" in caplog.text
    assert "s3cret" not in caplog.text
