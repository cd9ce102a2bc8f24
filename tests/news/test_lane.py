"""The news lane through its front door, against the simulator."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import grpc
import pytest
from aiohttp import web
from lanemesh.v1.lane_pb2 import (
    ATTEMPT_OUTCOME_TIMEOUT,
    CACHE_USE_HIT,
    CACHE_USE_MISS,
    CACHE_USE_STALE,
    LANE_STATUS_ERROR,
    LANE_STATUS_OK,
    LANE_STATUS_PARTIAL,
    TIME_RANGE_ALL_TIME,
    TIME_RANGE_FIVE_YEARS,
    TIME_RANGE_RECENT,
    Constraints,
    Filters,
    RetrieveRequest,
    RetrieveResponse,
)
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.news.lane import NewsLane, open_lane
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import StartupError
from tests.news.conftest import Ask
from tests.news.timed import timed_lane
from tests.simulator.faults import FAULTS
from tests.simulator.server import Simulator
from tests.support import lane_server

ALL = ("guardian", "newsapi", "gdelt", "hackernews", "rss")
KEYS = {"GUARDIAN_OPEN_PLATFORM_KEY": "guardian-s3cret", "NEWSAPI_KEY": "newsapi-s3cret"}


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def retrieve(lane: NewsLane, query: str = "canal lock") -> RetrieveResponse:
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(query=query, max_results=10), reply)
    return reply


async def test_results_come_whole_and_are_kept(ask_lane: Ask) -> None:
    first, second = await ask_lane(), await ask_lane("Canal   LOCK")
    assert [evidence.document.title[:10] for evidence in first.evidence] == ["Canal lock", "Volunteers", "Freight re"]
    assert (first.cache, second.cache) == (CACHE_USE_MISS, CACHE_USE_HIT)
    assert list(first.evidence) == list(second.evidence)
    assert all(evidence.simulated for evidence in first.evidence)
    assert first.evidence[0].document.attributes["domain"] == "theguardian.com"


async def test_one_story_of_several_providers_is_one_result(simulator: Simulator, ask_lane: Ask) -> None:
    simulator.faults |= {"guardian": "500", "newsapi": "500"}
    reply = await ask_lane()
    by_id = {evidence.document.id: evidence for evidence in reply.evidence}
    assert len(by_id) == len(reply.evidence) == 4
    restored = by_id["papers.example/oldest-lock"]
    assert list(restored.providers) == ["gdelt", "hackernews", "rss"]
    assert list(restored.corroborated_by) == ["daily.example/oldest-lock", "evening.example/oldest-lock"]
    assert restored.document.content.startswith("A hundred volunteers")
    scores = [evidence.score for evidence in reply.evidence]
    assert scores == sorted(scores, reverse=True)


async def test_a_headline_without_text_is_its_own_text(simulator: Simulator, ask_lane: Ask) -> None:
    simulator.faults |= dict.fromkeys(("guardian", "newsapi", "hackernews", "rss"), "500")
    reply = await ask_lane()
    assert all(evidence.document.content == evidence.document.title for evidence in reply.evidence)


async def test_first_tiers_hang_and_the_last_answers_within_the_budget(simulator: Simulator) -> None:
    clock = Clock()
    simulator.gates |= {"guardian": asyncio.Event(), "newsapi": asyncio.Event()}
    lane = timed_lane(simulator, clock.sleep)
    with ambient(Deadline(0.3, clock).soft()) as deadline:
        reply = await retrieve(lane)
    await lane.close()
    assert reply.evidence
    assert {name for evidence in reply.evidence for name in evidence.providers} == {"gdelt", "hackernews"}
    assert 0.0 < clock.now < deadline.at


async def test_everything_down_is_an_error_and_nothing_is_invented(simulator: Simulator, ask_lane: Ask) -> None:
    simulator.faults |= dict.fromkeys(ALL, "500")
    reply = await ask_lane()
    assert (reply.status, reply.reason) == (LANE_STATUS_ERROR, "PROVIDERS_FAILED")
    assert not reply.evidence
    assert [attempt.provider for attempt in reply.attempts] == list(ALL)


async def test_everything_down_with_an_answer_in_the_cache_is_stale(simulator: Simulator) -> None:
    clock = Clock()
    lane = timed_lane(simulator, clock.sleep, now=clock)
    fresh = await retrieve(lane)
    simulator.faults |= dict.fromkeys(ALL, "500")
    clock.now += 601
    stale = await retrieve(lane)
    await lane.close()
    assert (stale.status, stale.reason, stale.cache) == (LANE_STATUS_PARTIAL, "STALE", CACHE_USE_STALE)
    assert [each.document.id for each in stale.evidence] == [each.document.id for each in fresh.evidence]
    assert all(evidence.stale for evidence in stale.evidence)


async def test_nothing_found_says_what_was_looked_for(ask_lane: Ask) -> None:
    reply = await ask_lane("zyzzyva")
    assert reply.reason == "NO_MATCH"
    assert reply.message == 'Nothing was found for "zyzzyva"; asked: guardian, newsapi, gdelt, hackernews, rss.'


async def test_other_sources_and_no_words_ask_nobody(simulator: Simulator, ask_lane: Ask) -> None:
    other = await ask_lane(filters=Filters(sources=["docs"]))
    assert (other.reason, "docs" in other.message) == ("OUT_OF_SCOPE", True)
    assert (await ask_lane("?!")).message == "The query holds no word to look for."
    assert simulator.asked == []
    assert (await ask_lane(filters=Filters(sources=["docs", "news"]))).evidence


def _day(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()


AFTER = Filters()
AFTER.published_after.FromJsonString("2020-01-02T03:04:05Z")
BEFORE = Filters()
BEFORE.published_before.FromJsonString("2021-01-02T03:04:05Z")


@pytest.mark.parametrize(
    ("request_fields", "after", "before"),
    [
        ({}, lambda: _day(7), None),
        ({"constraints": Constraints(time_range=TIME_RANGE_RECENT)}, lambda: _day(7), None),
        ({"constraints": Constraints(time_range=TIME_RANGE_FIVE_YEARS)}, lambda: _day(1826), None),
        ({"constraints": Constraints(time_range=TIME_RANGE_ALL_TIME)}, lambda: None, None),
        ({"filters": AFTER}, lambda: "2020-01-02", None),
        ({"filters": BEFORE}, lambda: None, "2021-01-02"),
    ],
    ids=["nothing said", "recent", "five years", "all time", "after", "before"],
)
async def test_time_in_the_terms_of_news(
    simulator: Simulator,
    ask_lane: Ask,
    request_fields: dict[str, object],
    after: Callable[[], str | None],
    before: str | None,
) -> None:
    await ask_lane(**request_fields)
    query = simulator.of("guardian")[0].query
    assert (query.get("from-date"), query.get("to-date")) == (after(), before)


async def test_what_is_too_old_is_left_out(simulator: Simulator, ask_lane: Ask) -> None:
    old = {"webUrl": "https://www.theguardian.com/x", "webTitle": "Old", "webPublicationDate": "2001-01-01T00:00:00Z"}
    simulator.replies["guardian"] = lambda *_: web.json_response({"response": {"status": "ok", "results": [old]}})
    assert {name for evidence in (await ask_lane()).evidence for name in evidence.providers} == {"newsapi"}


@pytest.mark.parametrize(
    "other",
    [
        {"filters": Filters(language="en")},
        {"constraints": Constraints(time_range=TIME_RANGE_ALL_TIME)},
        {"filters": AFTER},
        {"max_results": 5},
    ],
    ids=["language", "time range", "bound", "limit"],
)
async def test_a_constraint_that_differs_is_another_question(
    simulator: Simulator, ask_lane: Ask, other: dict[str, object]
) -> None:
    for fields in ({}, other, {}, other):
        await ask_lane(**fields)
    assert len(simulator.of("guardian")) == 2


async def test_identical_questions_at_once_are_one_request(simulator: Simulator, ask_lane: Ask) -> None:
    simulator.gates["guardian"] = asyncio.Event()
    asked = [asyncio.create_task(ask_lane()) for _ in range(100)]
    await simulator.reached["guardian"].wait()
    simulator.gates["guardian"].set()
    replies = await asyncio.gather(*asked)
    assert len(simulator.of("guardian")) == 1
    assert all(reply.evidence for reply in replies)


async def test_no_more_than_its_own_maximum(simulator: Simulator, ask_lane: Ask) -> None:
    await ask_lane(max_results=100)
    assert simulator.of("guardian")[0].query["page-size"] == "10"


async def test_it_serves(lane: NewsLane) -> None:
    async with lane_server("news", lane) as address, grpc.aio.insecure_channel(address) as channel:
        reply = await LaneServiceStub(channel).Retrieve(RetrieveRequest(query="canal lock", max_results=2))
    assert (reply.lane, reply.status) == ("news", LANE_STATUS_OK)
    assert len(reply.evidence) == 2


async def test_cut_short_it_tells_who_was_late(simulator: Simulator, lane: NewsLane) -> None:
    simulator.gates |= {name: asyncio.Event() for name in ALL}
    reply = RetrieveResponse()
    asked = asyncio.create_task(lane.retrieve(RetrieveRequest(query="canal lock", max_results=10), reply))
    await simulator.reached["guardian"].wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert [(row.provider, row.outcome) for row in reply.attempts] == [("guardian", ATTEMPT_OUTCOME_TIMEOUT)]
    assert not reply.evidence


async def test_without_keys_and_keyless_providers_it_does_not_start() -> None:
    with pytest.raises(StartupError, match=r"GUARDIAN_OPEN_PLATFORM_KEY, NEWSAPI_KEY"):
        await open_lane({"KEYLESS_FALLBACKS_ENABLED": "false"})


@pytest.mark.parametrize("feeds", ["feeds.example/rss", "https://a.example/rss,ftp://b.example"])
async def test_feeds_that_are_no_addresses_refuse_to_start(feeds: str) -> None:
    with pytest.raises(StartupError, match="LANEMESH_NEWS_FEEDS"):
        await open_lane({"LANEMESH_NEWS_FEEDS": feeds})


def _real(simulator: Simulator, **variables: str) -> dict[str, str]:
    """An environment in which the providers are real and only their addresses are not."""
    addresses = {f"LANEMESH_{name.upper()}_URL": f"{simulator.url}/{name}" for name in ALL[:-1]}
    return addresses | {"LANEMESH_PROVIDER_ALLOWED_ADDRESSES": "127.0.0.1/32"} | variables


async def test_without_keys_the_open_ones_answer_and_feeds_only_when_named(simulator: Simulator) -> None:
    for feeds, names in (("", ["gdelt", "hackernews"]), (f"{simulator.url}/rss", ["gdelt", "hackernews", "rss"])):
        lane = await open_lane(_real(simulator, LANEMESH_NEWS_FEEDS=feeds))
        reply = await retrieve(lane)
        await lane.close()
        assert [attempt.provider for attempt in reply.attempts] == names
        assert not any(evidence.simulated for evidence in reply.evidence)


async def test_no_secret_in_any_log_or_reply(simulator: Simulator, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told = []
    for fault in sorted(FAULTS):
        simulator.faults |= dict.fromkeys(ALL[:2], fault)
        lane = await open_lane(_real(simulator, **KEYS))
        with ambient(Deadline(0.3, lambda: 0.0)):
            told.append(str(await retrieve(lane)))
        await lane.close()
    assert simulator.of("guardian")[0].query["api-key"] == KEYS["GUARDIAN_OPEN_PLATFORM_KEY"]
    assert simulator.of("newsapi")[0].headers["X-Api-Key"] == KEYS["NEWSAPI_KEY"]
    assert not any("s3cret" in text for text in (*told, caplog.text, *map(repr, caplog.records)))
