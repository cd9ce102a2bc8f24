"""The gateway as a process is built: from its environment, ready though every lane is lost."""

from __future__ import annotations

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from lanemesh.v1 import search_pb2
from lanemesh.v1.search_pb2 import ListLanesRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from gateway.__main__ import build
from services.runtime.clients import health_method
from services.runtime.errors import StartupError
from tests.support import TABLE

# Ports from 1 on are reserved, so that nobody listens where the lanes should be.
ENVIRONMENT = {"LANEMESH_LISTEN": "127.0.0.1:0", "LANEMESH_PORT_BASE": "1"}


async def test_the_gateway_is_ready_though_every_lane_is_lost() -> None:
    server, close = await build(TABLE.only({"keyword"}), ENVIRONMENT)
    port = await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            health = await health_method(channel)(HealthCheckRequest())
            listed = await SearchServiceStub(channel).ListLanes(ListLanesRequest())
    finally:
        await server.stop()
        await close()
    assert health.status == HealthCheckResponse.SERVING
    (keyword,) = [lane for lane in listed.lanes if lane.name == "keyword"]
    assert keyword.address == f"127.0.0.1:{1 + TABLE.lanes['keyword'].port}"
    assert keyword.serving == search_pb2.SERVING_UNREACHABLE


@pytest.mark.parametrize("variable", ["LANEMESH_FUSION_ENABLED", "LANEMESH_PORT_BASE", "LANEMESH_MAX_CONCURRENT"])
async def test_a_setting_that_cannot_be_read_is_named(variable: str) -> None:
    with pytest.raises(StartupError, match=variable):
        await build(TABLE, ENVIRONMENT | {variable: "perhaps"})
