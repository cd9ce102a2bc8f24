"""A simulator for each test, and the lane over it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.news.lane import NewsLane, open_lane
from tests.simulator.server import Simulator, simulating

Ask = Callable[..., Awaitable[RetrieveResponse]]


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    async with simulating() as running:
        yield running


@pytest.fixture
async def lane(simulator: Simulator) -> AsyncIterator[NewsLane]:
    opened = await open_lane(simulator.environment())
    yield opened
    await opened.close()


@pytest.fixture
def ask_lane(lane: NewsLane) -> Ask:
    """Asks the lane; keyword arguments are fields of the request."""

    async def ask(query: str = "canal lock", **fields: Any) -> RetrieveResponse:
        reply = RetrieveResponse()
        await lane.retrieve(RetrieveRequest(query=query, max_results=fields.pop("max_results", 10), **fields), reply)
        return reply

    return ask
