"""No key is in a log, a span or an error, whatever goes wrong: all of them are searched for the keys that were used."""

from __future__ import annotations

import logging
from typing import Any

import grpc
import pytest
from lanemesh.v1.lane_pb2 import RetrieveRequest
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime.logs import JsonFormatter
from services.web.lane import STEPS, open_lane
from tests.otlp import SAMPLE, collected
from tests.simulator.faults import FAULTS
from tests.simulator.server import Simulator
from tests.support import lane_server

KEYS = {"BRAVE_SEARCH_API_KEY": "brave-hunter2-key", "SERPAPI_KEY": "serpapi-hunter2-key"}
PASSWORD = "redis-hunter2-password"


@pytest.mark.parametrize("fault", ["", *FAULTS])
async def test_no_key_comes_out(simulator: Simulator, caplog: pytest.LogCaptureFixture, fault: str) -> None:
    caplog.set_level(logging.DEBUG)
    names = [provider.profile.name for step in STEPS for provider in step]
    path = f"/fault/{fault}" if fault else ""
    bases = {
        base.variable: (provider.profile.name) for step in STEPS for provider in step for base in provider.profile.bases
    }
    environment = {variable: f"{simulator.url}{path}/{name}" for variable, name in bases.items()}
    environment |= KEYS | {
        "LANEMESH_PROVIDER_ALLOWED_ADDRESSES": "127.0.0.1/32",
        "LANEMESH_PROVIDER_MS": "100",
        "REDIS_URL": f"redis://:{PASSWORD}@127.0.0.1:1/0",
    }
    async with collected() as collector:
        said = await _ask(environment)
    assert set(names) >= {asked.provider for asked in simulator.asked}
    assert simulator.of("brave")[0].headers["X-Subscription-Token"] == KEYS["BRAVE_SEARCH_API_KEY"]
    if fault:
        assert simulator.of("serpapi")[0].query["api_key"] == KEYS["SERPAPI_KEY"]
    assert "provider brave" in collector.names()
    told = collector.text()
    logged = "\n".join(JsonFormatter("web").format(record) for record in caplog.records)
    for text in (said, told, logged):
        assert "hunter2" not in text


async def _ask(environment: dict[str, Any]) -> str:
    lane = await open_lane(environment)
    async with lane_server("web", lane) as address, grpc.aio.insecure_channel(address) as channel:  # type: ignore[arg-type]
        request = RetrieveRequest(query="canal lock", max_results=5)
        reply = await LaneServiceStub(channel).Retrieve(request, timeout=30.0, metadata=SAMPLE)
    await lane.close()
    return str(reply) + repr(vars(lane))
