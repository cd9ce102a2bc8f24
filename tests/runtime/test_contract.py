"""Every enabled lane of the table is one folder that keeps the contract, and keeps what the table says."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.runtime.__main__ import open_lane, services_of
from services.runtime.errors import StartupError
from services.runtime.lane import IndexLane, Lane
from tests.simulator.server import simulating
from tests.support import TABLE

NAMES = [row.name for row in TABLE.enabled()]


@asynccontextmanager
async def opened(name: str, home: Path) -> AsyncIterator[Lane]:
    async with simulating() as simulator:
        own = {"LANEMESH_HOME": str(home), "LANEMESH_PROJECT_ROOT": str(home)}
        lane = await open_lane(name, own | simulator.environment())
        yield lane
        await lane.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_lane_is_a_folder_with_one_way_in(name: str) -> None:
    module = importlib.import_module(f"services.{name}.lane")
    assert inspect.iscoroutinefunction(module.open_lane)
    assert list(inspect.signature(module.open_lane).parameters) == ["environment"]


@pytest.mark.parametrize("name", NAMES)
async def test_a_lane_keeps_what_the_table_says(tmp_path: Path, name: str) -> None:
    async with opened(name, tmp_path) as lane:
        keeps = lane.keeps if isinstance(lane, IndexLane) else frozenset()
        services = [service.name for service in services_of(name, lane, TABLE)]
    assert keeps == set(TABLE.lanes[name].keeps)
    assert services == ["lanemesh.v1.LaneService", "lanemesh.v1.IndexService"][: 1 + bool(keeps)]


@pytest.mark.parametrize("name", NAMES)
async def test_a_fresh_lane_is_ready_and_says_what_it_looked_for_in_vain(tmp_path: Path, name: str) -> None:
    reply = RetrieveResponse()
    async with opened(name, tmp_path) as lane:
        await lane.check()
        await lane.retrieve(RetrieveRequest(query="zyzzyva", max_results=1), reply)
    assert not reply.evidence
    assert reply.message


async def test_a_lane_without_a_folder_is_named() -> None:
    with pytest.raises(StartupError, match=r"no lane named 'gossip': services/gossip/lane\.py is not there"):
        await open_lane("gossip", {})
