"""The list of lanes: each as it is now, none held up by another."""

from __future__ import annotations

from typing import Any

import pytest
from lanemesh.v1 import search_pb2
from lanemesh.v1.search_pb2 import LaneInfo, ListLanesRequest, ListLanesResponse

from services.runtime.errors import Unavailable
from tests.gateway.hostile import silent
from tests.support import NOBODY, TABLE, FakeLane, evidence, mesh


class Uncountable(FakeLane):
    async def stats(self, access_labels: Any) -> Any:
        raise Unavailable("the index is being rebuilt")


async def listed(lanes: dict[str, FakeLane | str], fusion: bool | str = True) -> ListLanesResponse:
    async with mesh(lanes, fusion=fusion) as running:
        return await running.search.ListLanes(ListLanesRequest())


def info(reply: ListLanesResponse, lane: str) -> LaneInfo:
    (found,) = [entry for entry in reply.lanes if entry.name == lane]
    return found


async def test_every_configured_lane_is_listed_in_table_order() -> None:
    reply = await listed({"keyword": FakeLane()})
    assert [entry.name for entry in reply.lanes] == list(TABLE.lanes)
    for entry in reply.lanes:
        assert dict(entry.budgets_ms) == TABLE.lanes[entry.name].budget_ms
        assert entry.fallback == TABLE.lanes[entry.name].fallback


async def test_a_ready_lane_is_ready_with_what_its_index_holds() -> None:
    lane = FakeLane(stored={"a": evidence("a").document})
    entry = info(await listed({"keyword": lane}), "keyword")
    assert (entry.serving, entry.message, entry.indexed) == (search_pb2.SERVING_READY, "", True)
    assert (entry.stats.documents, entry.stats.engine) == (1, "fake")
    assert entry.address.startswith("127.0.0.1:")
    assert entry.check_ms > 0


async def test_a_lane_without_an_index_has_no_counts() -> None:
    entry = info(await listed({"local": FakeLane()}), "local")
    assert entry.serving == search_pb2.SERVING_READY
    assert not entry.indexed
    assert not entry.HasField("stats")


async def test_a_lane_whose_own_check_fails_is_not_ready() -> None:
    entry = info(await listed({"keyword": FakeLane(healthy=False)}), "keyword")
    assert entry.serving == search_pb2.SERVING_NOT_READY
    assert entry.message
    assert not entry.HasField("stats")


async def test_a_lane_nobody_serves_is_unreachable() -> None:
    entry = info(await listed({"keyword": NOBODY}), "keyword")
    assert (entry.serving, entry.address) == (search_pb2.SERVING_UNREACHABLE, NOBODY)
    assert entry.message


async def test_a_lane_outside_the_mesh_is_disabled() -> None:
    entry = info(await listed({"keyword": FakeLane()}), "vector")
    assert (entry.serving, entry.address, entry.check_ms) == (search_pb2.SERVING_DISABLED, "", 0.0)


async def test_an_index_that_cannot_be_counted_is_said_and_the_lane_stays_ready() -> None:
    entry = info(await listed({"keyword": Uncountable()}), "keyword")
    assert entry.serving == search_pb2.SERVING_READY
    assert "cannot be counted" in entry.message
    assert not entry.HasField("stats")


@pytest.mark.parametrize(
    ("fusion", "serving"), [(True, search_pb2.SERVING_READY), (NOBODY, search_pb2.SERVING_UNREACHABLE)]
)
async def test_the_fusion_service_is_listed(fusion: bool | str, serving: Any) -> None:
    reply = await listed({"keyword": FakeLane()}, fusion)
    assert (reply.fusion.name, reply.fusion.serving) == ("fusion", serving)


async def test_a_lane_that_never_speaks_holds_up_neither_the_others_nor_the_list() -> None:
    async with silent() as address, mesh({"vector": address, "keyword": FakeLane()}) as running:
        reply = await running.search.ListLanes(ListLanesRequest())
    assert info(reply, "vector").serving == search_pb2.SERVING_UNREACHABLE
    assert info(reply, "keyword").serving == search_pb2.SERVING_READY
    assert reply.fusion.serving == search_pb2.SERVING_READY
