"""The markets lane through its front door, against the simulator."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import grpc
import pytest
from lanemesh.v1.lane_pb2 import (
    CACHE_USE_HIT,
    CACHE_USE_MISS,
    CACHE_USE_STALE,
    LANE_STATUS_EMPTY,
    LANE_STATUS_ERROR,
    LANE_STATUS_OK,
    LANE_STATUS_PARTIAL,
    TIME_RANGE_RECENT,
    Constraints,
    Filters,
    RetrieveRequest,
    RetrieveResponse,
)
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.markets.lane import MarketsLane, open_lane
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import StartupError
from tests.markets.timed import timed_lane
from tests.simulator.faults import FAULTS
from tests.simulator.server import Simulator
from tests.support import lane_server

KEYED = ("alphavantage", "finnhub", "fmp")
ALL = (*KEYED, "stooq", "edgar")
KEYS = {"ALPHAVANTAGE_KEY": "alpha-s3cret", "FINNHUB_KEY": "finnhub-s3cret", "FMP_API_KEY": "fmp-s3cret"}


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
async def lane(simulator: Simulator) -> AsyncIterator[MarketsLane]:
    lane = await open_lane(simulator.environment())
    yield lane
    await lane.close()


async def retrieve(
    lane: MarketsLane, query: str = "Apple stock", max_results: int = 15, **fields: object
) -> RetrieveResponse:
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(query=query, max_results=max_results, **fields), reply)  # type: ignore[arg-type]
    return reply


async def test_a_price_and_what_was_recognised(lane: MarketsLane) -> None:
    reply = await retrieve(lane, "Né à Genève: Apple stock?")
    (found,) = reply.evidence
    assert (found.quote.value, list(found.providers), found.simulated) == (231.4, ["alphavantage"], True)
    (entity,) = reply.entities
    assert (entity.mention, entity.name, entity.type) == ("Apple", "Apple", "COMPANY")
    assert (entity.span.start, entity.span.end) == (13, 18)
    assert (entity.span.start_byte, entity.span.end_byte) == (16, 21)


async def test_no_entity_is_empty_and_asks_nobody(simulator: Simulator, lane: MarketsLane) -> None:
    async with lane_server("markets", lane) as address, grpc.aio.insecure_channel(address) as channel:  # type: ignore[arg-type]
        request = RetrieveRequest(query="what is a good price for IT in general", max_results=5)
        reply = await LaneServiceStub(channel).Retrieve(request)
    assert (reply.status, reply.reason) == (LANE_STATUS_EMPTY, "NO_ENTITY")
    assert reply.message == "The query names no ticker, company, currency pair, index or commodity."
    assert simulator.asked == []


async def test_it_serves(lane: MarketsLane) -> None:
    async with lane_server("markets", lane) as address, grpc.aio.insecure_channel(address) as channel:  # type: ignore[arg-type]
        reply = await LaneServiceStub(channel).Retrieve(RetrieveRequest(query="AAPL and EUR/USD", max_results=15))
    assert (reply.lane, reply.status) == ("markets", LANE_STATUS_OK)
    assert sorted(found.quote.symbol for found in reply.evidence) == ["AAPL", "EUR/USD"]


async def test_every_entity_is_asked_for_at_once(simulator: Simulator, lane: MarketsLane) -> None:
    # Nobody is answered before three have asked.
    simulator.gates["alphavantage"] = asyncio.Barrier(3)  # type: ignore[assignment]
    reply = await retrieve(lane, "AAPL, MSFT and EUR/USD")
    assert [list(found.providers) for found in reply.evidence] == [["alphavantage"]] * 3
    assert [found.quote.symbol for found in reply.evidence] == ["AAPL", "MSFT", "EUR/USD"]


async def test_providers_of_one_symbol_are_separate_evidence(simulator: Simulator, lane: MarketsLane) -> None:
    simulator.faults["alphavantage"] = "500"
    reply = await retrieve(lane)
    assert [(list(found.providers), found.quote.value) for found in reply.evidence] == [
        (["finnhub"], 231.62),
        (["fmp"], 231.55),
    ]


async def test_what_the_first_does_not_cover_the_next_answers(lane: MarketsLane) -> None:
    reply = await retrieve(lane, "S&P 500")
    assert [(list(found.providers), found.quote.instrument) for found in reply.evidence] == [(["fmp"], "INDEX")]


async def test_the_last_tier_has_prices_and_filings(simulator: Simulator, lane: MarketsLane) -> None:
    simulator.faults |= dict.fromkeys(KEYED, "500")
    reply = await retrieve(lane)
    assert [found.kind for found in reply.evidence].count("quote") == 1
    assert reply.evidence[0].kind == "quote"
    assert {found.kind for found in reply.evidence} == {"quote", "filing"}


async def test_first_tiers_hang_and_the_last_answers_within_the_budget(simulator: Simulator) -> None:
    clock = Clock()
    simulator.gates |= {name: asyncio.Event() for name in KEYED}
    lane = timed_lane(simulator, clock.sleep)
    with ambient(Deadline(0.3, clock).soft()) as deadline:
        reply = await retrieve(lane)
    await lane.close()
    assert {name for found in reply.evidence for name in found.providers} == {"stooq", "edgar"}
    assert 0.0 < clock.now < deadline.at


async def test_everything_down_is_an_error_and_nothing_is_invented(simulator: Simulator, lane: MarketsLane) -> None:
    simulator.faults |= dict.fromkeys(ALL, "500")
    reply = await retrieve(lane)
    assert (reply.status, reply.reason) == (LANE_STATUS_ERROR, "PROVIDERS_FAILED")
    assert not reply.evidence
    assert [attempt.provider for attempt in reply.attempts] == list(ALL)


async def test_everything_down_with_an_answer_in_the_cache_is_stale(simulator: Simulator) -> None:
    clock = Clock()
    lane = timed_lane(simulator, clock.sleep, now=clock)
    fresh = await retrieve(lane)
    simulator.faults |= dict.fromkeys(ALL, "500")
    clock.now += 301
    stale = await retrieve(lane)
    await lane.close()
    assert (stale.status, stale.reason, stale.cache) == (LANE_STATUS_PARTIAL, "STALE", CACHE_USE_STALE)
    assert [found.document.id for found in stale.evidence] == [found.document.id for found in fresh.evidence]
    assert all(found.stale for found in stale.evidence)


async def test_one_entity_that_fails_leaves_the_other(simulator: Simulator, lane: MarketsLane) -> None:
    await retrieve(lane, "AAPL")
    simulator.faults |= dict.fromkeys(ALL, "500")
    reply = await retrieve(lane, "AAPL and MSFT")
    assert (reply.status, reply.reason) == (LANE_STATUS_PARTIAL, "PROVIDERS_FAILED")
    assert [found.quote.symbol for found in reply.evidence] == ["AAPL"]


async def test_a_symbol_that_nobody_knows_says_who_was_asked(lane: MarketsLane) -> None:
    reply = await retrieve(lane, "$ZZZZ")
    assert reply.reason == "NO_MATCH"
    assert reply.message == 'Nothing was found for "ZZZZ"; asked: alphavantage, finnhub, fmp, stooq, edgar.'


async def test_the_same_thing_in_other_words_is_in_the_cache(simulator: Simulator, lane: MarketsLane) -> None:
    first, second = await retrieve(lane, "Apple stock"), await retrieve(lane, "what are shares of apple worth?")
    assert (first.cache, second.cache) == (CACHE_USE_MISS, CACHE_USE_HIT)
    assert len(simulator.asked) == 1


AFTER = Filters()
AFTER.published_after.FromJsonString("2020-01-02T03:04:05Z")


@pytest.mark.parametrize(
    "other",
    [
        {"filters": Filters(language="en")},
        {"filters": Filters(access_labels=["finance"])},
        {"constraints": Constraints(time_range=TIME_RANGE_RECENT)},
        {"filters": AFTER},
        {"max_results": 5},
    ],
    ids=["language", "labels", "time range", "bound", "limit"],
)
async def test_a_constraint_that_differs_is_another_question(
    simulator: Simulator, lane: MarketsLane, other: dict[str, object]
) -> None:
    for fields in ({}, other, {}, other):
        await retrieve(lane, **fields)  # type: ignore[arg-type]
    assert len(simulator.of("alphavantage")) == 2


async def test_identical_questions_at_once_are_one_request(simulator: Simulator, lane: MarketsLane) -> None:
    simulator.gates["alphavantage"] = asyncio.Event()
    asked = [asyncio.create_task(retrieve(lane)) for _ in range(100)]
    await simulator.reached["alphavantage"].wait()
    simulator.gates["alphavantage"].set()
    assert all(reply.evidence for reply in await asyncio.gather(*asked))
    assert len(simulator.of("alphavantage")) == 1


async def test_a_price_outside_the_bounds_of_time_is_left_out(lane: MarketsLane) -> None:
    before = Filters()
    before.published_before.FromJsonString("2026-01-01T00:00:00Z")
    reply = await retrieve(lane, filters=before)
    assert [found.filing.form for found in reply.evidence] == ["10-K"]


async def test_other_sources_ask_nobody(simulator: Simulator, lane: MarketsLane) -> None:
    reply = await retrieve(lane, filters=Filters(sources=["news"]))
    assert (reply.reason, simulator.asked) == ("OUT_OF_SCOPE", [])
    financial = Constraints(sources=["financial", "news"])
    assert (await retrieve(lane, filters=Filters(sources=["news"]), constraints=financial)).evidence


async def test_a_query_of_many_entities_asks_for_the_first(simulator: Simulator, lane: MarketsLane) -> None:
    reply = await retrieve(lane, "$AAPL $MSFT $BRK.B EUR/USD GBP/JPY BTC/USD gold price")
    assert len(reply.entities) == 7
    assert len(simulator.of("alphavantage")) == 5
    assert reply.message == "Only the first 5 entities were looked up, not: BTC/USD, gold."


async def test_without_keys_and_keyless_providers_it_does_not_start() -> None:
    with pytest.raises(StartupError, match=r"ALPHAVANTAGE_KEY, FINNHUB_KEY, FMP_API_KEY"):
        await open_lane({"KEYLESS_FALLBACKS_ENABLED": "false"})


def real(simulator: Simulator, **variables: str) -> dict[str, str]:
    """An environment in which the providers are real and only their addresses are not."""
    addresses = {f"LANEMESH_{name.upper()}_URL": f"{simulator.url}/{name}" for name in ALL}
    addresses["LANEMESH_EDGAR_DATA_URL"] = f"{simulator.url}/edgar"
    return addresses | {"LANEMESH_PROVIDER_ALLOWED_ADDRESSES": "127.0.0.1/32"} | variables


async def test_without_keys_the_open_ones_answer(simulator: Simulator) -> None:
    lane = await open_lane(real(simulator, LANEMESH_CONTACT="ops@lanemesh.example"))
    reply = await retrieve(lane)
    await lane.close()
    assert [attempt.provider for attempt in reply.attempts] == ["stooq", "edgar"]
    assert not any(found.simulated for found in reply.evidence)
    assert "ops@lanemesh.example" in simulator.of("edgar")[0].headers["User-Agent"]


async def test_no_secret_in_any_log_or_reply(simulator: Simulator, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told = []
    for fault in sorted(FAULTS):
        simulator.faults |= dict.fromkeys(KEYED, fault)
        lane = await open_lane(real(simulator, **KEYS))
        with ambient(Deadline(0.3, lambda: 0.0)):
            told.append(str(await retrieve(lane)))
        await lane.close()
    assert simulator.of("alphavantage")[0].query["apikey"] == KEYS["ALPHAVANTAGE_KEY"]
    assert simulator.of("finnhub")[0].headers["X-Finnhub-Token"] == KEYS["FINNHUB_KEY"]
    assert simulator.of("fmp")[0].headers["apikey"] == KEYS["FMP_API_KEY"]
    assert not any("s3cret" in text for text in (*told, caplog.text, *map(repr, caplog.records)))
