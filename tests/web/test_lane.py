"""The web lane through its front door, against the simulator: constraints, tiers, faults, budgets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import psutil
import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import Constraints, Filters, LaneStatus, RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime.errors import StartupError
from services.web.lane import open_lane
from tests.providers.scripted import outcomes
from tests.simulator.faults import FAULTS
from tests.simulator.server import Simulator
from tests.support import TABLE, lane_server

KEYED = ("brave", "serpapi")
KEYLESS = ("duckduckgo", "wikipedia", "stackexchange", "mdn")
BUDGET = TABLE.lanes["web"].budget_ms["simple"] / 1000


@asynccontextmanager
async def web_lane(simulator: Simulator, **environment: str) -> AsyncIterator[LaneServiceStub]:
    """The lane over gRPC."""
    lane = await open_lane(simulator.environment() | environment)
    async with lane_server("web", lane) as address, grpc.aio.insecure_channel(address) as channel:  # type: ignore[arg-type]
        yield LaneServiceStub(channel)
    await lane.close()


async def ask(
    web: LaneServiceStub, query: str = "canal lock", *, seconds: float = BUDGET, **fields: Any
) -> RetrieveResponse:
    request = RetrieveRequest(query=query, max_results=fields.pop("max_results", 20), **fields)
    return await web.Retrieve(request, timeout=seconds)


def status(reply: RetrieveResponse) -> str:
    return LaneStatus.Name(reply.status).removeprefix("LANE_STATUS_")


async def test_brave_alone_answers_when_it_can(simulator: Simulator) -> None:
    async with web_lane(simulator) as web:
        reply = await ask(web)
    assert (status(reply), outcomes(reply)) == ("OK", {"brave": "OK"})
    assert [each.document.id for each in reply.evidence] == [
        "waterways.example.org/locks",
        "arxiv.org/abs/2601.00001",
        "en.wikipedia.org/wiki/Canal_lock",
    ]
    assert all(each.simulated for each in reply.evidence)


async def test_the_open_works_are_asked_at_once_and_merged(simulator: Simulator) -> None:
    simulator.faults |= dict.fromkeys(KEYED, "500")
    async with web_lane(simulator) as web:
        reply = await ask(web)
    assert outcomes(reply) == dict.fromkeys(KEYED, "ERROR") | dict.fromkeys(KEYLESS, "OK")
    providers = {name for each in reply.evidence for name in each.providers}
    assert providers == set(KEYLESS)
    assert len({each.document.id for each in reply.evidence}) == len(reply.evidence)
    boosted = next(each for each in reply.evidence if "wikipedia" in each.providers)
    assert boosted.provider_adjustment > 0


@pytest.mark.parametrize("fault", [*FAULTS])
async def test_every_fault_of_the_first_is_made_good_by_the_next_within_the_budget(
    simulator: Simulator, fault: str
) -> None:
    simulator.faults["brave"] = fault
    async with web_lane(simulator) as web:
        reply = await ask(web)
    assert status(reply) == "OK"
    assert outcomes(reply)["serpapi"] == "OK"
    expected = {"429": "RATE_LIMITED", "429-date": "RATE_LIMITED", "503": "RATE_LIMITED"}
    expected |= {"401": "UNAUTHORIZED", "403": "UNAUTHORIZED", "slow-headers": "CANCELLED", "slow-body": "CANCELLED"}
    assert outcomes(reply)["brave"] == expected.get(fault, "ERROR")


@pytest.mark.parametrize("fault", [*FAULTS])
async def test_every_fault_of_all_is_an_honest_failure_and_the_process_goes_on(
    simulator: Simulator, fault: str
) -> None:
    simulator.faults |= dict.fromkeys(KEYED + KEYLESS, fault)
    # What is slow is given up soon; everything else may take as long as a busy machine needs.
    async with web_lane(simulator, LANEMESH_PROVIDER_MS="100" if fault.startswith("slow") else "30000") as web:
        reply = await ask(web, seconds=30.0)
        assert (status(reply), len(reply.evidence)) == ("ERROR", 0)
        assert set(outcomes(reply)) == set(KEYED + KEYLESS)
        simulator.faults.clear()
        # Nobody was judged by one failure alone, but a rate limit is obeyed.
        again = await ask(web, "canal locks", seconds=30.0)
    if fault not in ("429", "429-date", "503"):
        assert status(again) == "OK"
    else:
        assert set(outcomes(again).values()) == {"SUSPENDED"}


async def test_faults_leave_the_process_small(simulator: Simulator) -> None:
    process = psutil.Process()
    async with web_lane(simulator) as web:
        simulator.faults |= dict.fromkeys(KEYED, "bomb") | dict.fromkeys(KEYLESS, "large")
        await ask(web, "warm up", seconds=30.0)
        before = process.memory_info().rss
        await asyncio.gather(*(ask(web, f"question {number}", seconds=30.0) for number in range(3)))
    assert process.memory_info().rss - before < 150 << 20


async def test_with_both_engines_hanging_the_open_works_answer_within_the_budget(simulator: Simulator) -> None:
    simulator.gates |= {name: asyncio.Event() for name in KEYED}
    async with web_lane(simulator) as web:
        reply = await ask(web)
    assert status(reply) == "OK"
    assert {name: outcomes(reply)[name] for name in KEYED} == dict.fromkeys(KEYED, "CANCELLED")


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["academic"], {"arxiv.org/abs/2601.00001"}),
        (["docs"], set()),
        (["web"], {"waterways.example.org/locks", "arxiv.org/abs/2601.00001", "en.wikipedia.org/wiki/Canal_lock"}),
    ],
)
async def test_sources_become_sites(simulator: Simulator, sources: list[str], expected: set[str]) -> None:
    async with web_lane(simulator) as web:
        reply = await ask(web, filters=Filters(sources=sources))
    query = simulator.of("brave")[0].query["q"]
    assert ("site:" in query) == (sources != ["web"])
    brave = {each.document.id for each in reply.evidence if "brave" in each.providers}
    assert brave == expected


async def test_sources_that_are_not_on_the_web_are_out_of_scope(simulator: Simulator) -> None:
    async with web_lane(simulator) as web:
        reply = await ask(web, filters=Filters(sources=["minutes"]))
    assert (status(reply), reply.reason) == ("EMPTY", "OUT_OF_SCOPE")
    assert not simulator.asked


@pytest.mark.parametrize(
    ("time_range", "days"),
    [(lane_pb2.TIME_RANGE_RECENT, 730), (lane_pb2.TIME_RANGE_FIVE_YEARS, 1826), (lane_pb2.TIME_RANGE_ALL_TIME, None)],
)
async def test_time_ranges_are_read_in_the_terms_of_the_lane(
    simulator: Simulator, time_range: lane_pb2.TimeRange.ValueType, days: int | None
) -> None:
    async with web_lane(simulator) as web:
        await ask(web, constraints=Constraints(time_range=time_range))
    freshness = simulator.of("brave")[0].query.get("freshness")
    today = datetime.now(UTC)
    assert freshness == (None if days is None else f"{today - timedelta(days=days):%Y-%m-%d}to{today:%Y-%m-%d}")


async def test_a_moving_bound_of_time_does_not_miss_the_cache(simulator: Simulator) -> None:
    constraints = Constraints(time_range=lane_pb2.TIME_RANGE_RECENT)
    async with web_lane(simulator) as web:
        for second in range(2):
            filters = Filters()
            filters.published_after.FromDatetime(datetime.now(UTC) - timedelta(days=730, seconds=second))
            reply = await ask(web, constraints=constraints, filters=filters)
    assert reply.cache == lane_pb2.CACHE_USE_HIT


async def test_never_more_than_twenty(simulator: Simulator) -> None:
    async with web_lane(simulator) as web:
        await ask(web, max_results=100)
    assert simulator.of("brave")[0].query["count"] == "20"


async def test_without_keys_and_without_keyless_providers_the_lane_refuses_to_start() -> None:
    with pytest.raises(StartupError, match=r"BRAVE_SEARCH_API_KEY, SERPAPI_KEY"):
        await open_lane({"KEYLESS_FALLBACKS_ENABLED": "false"})
