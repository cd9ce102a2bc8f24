"""Every call served is counted by how it ended, and told in a line of the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest
from lanemesh.v1.lane_pb2 import RetrieveRequest
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub
from prometheus_client import REGISTRY

from services.runtime.clients import health_method
from services.runtime.errors import InvalidRequest
from services.runtime.server import Service
from tests.otlp import collected
from tests.runtime.conftest import Watched
from tests.support import FakeLane, lane_server, serving

QUESTION = RetrieveRequest(query="q", max_results=1)


def served(code: str, method: str = "LaneService/Retrieve") -> float:
    return REGISTRY.get_sample_value("lanemesh_rpc_total", {"method": method, "code": code}) or 0.0


@asynccontextmanager
async def counted(code: str, method: str = "LaneService/Retrieve") -> AsyncIterator[None]:
    """The block serves exactly one call of that method, and it ends with that code."""
    labels = {"method": method}
    before = served(code, method), REGISTRY.get_sample_value("lanemesh_rpc_seconds_count", labels) or 0.0
    yield
    after = served(code, method), REGISTRY.get_sample_value("lanemesh_rpc_seconds_count", labels)
    assert after == (before[0] + 1, before[1] + 1)
    assert REGISTRY.get_sample_value("lanemesh_rpc_in_flight") == 0


@asynccontextmanager
async def asking(lane: FakeLane) -> AsyncIterator[LaneServiceStub]:
    async with lane_server("keyword", lane) as address, grpc.aio.insecure_channel(address) as channel:
        yield LaneServiceStub(channel)


async def test_an_answer_is_counted() -> None:
    async with asking(FakeLane()) as stub, counted("OK"):
        await stub.Retrieve(QUESTION)


@pytest.mark.parametrize(
    ("error", "code"), [(InvalidRequest("query", "no"), "INVALID_ARGUMENT"), (RuntimeError("broken"), "INTERNAL")]
)
async def test_an_error_is_counted_by_its_status(error: Exception, code: str) -> None:
    async with asking(FakeLane(error=error)) as stub, counted(code):
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.Retrieve(QUESTION)


async def test_a_call_that_its_caller_left_is_counted_as_cancelled() -> None:
    lane = Watched(gate=asyncio.Event())
    async with asking(lane) as stub, asyncio.timeout(30), counted("CANCELLED"):
        call = stub.Retrieve(QUESTION, timeout=60)
        await lane.started.wait()
        call.cancel()
        await lane.ended.wait()


def service_of(method: str, handler: Any) -> Service:
    generic = grpc.method_handlers_generic_handler("test.Service", {method: handler})
    return Service("test.Service", lambda server: server.add_generic_rpc_handlers((generic,)))


async def test_a_handler_without_a_boundary_that_fails_is_counted_as_unknown() -> None:
    async def fail(_request: bytes, _context: Any) -> bytes:
        raise RuntimeError("broken")

    service = service_of("Fail", grpc.unary_unary_rpc_method_handler(fail))
    async with (
        serving(service) as address,
        grpc.aio.insecure_channel(address) as channel,
        counted("UNKNOWN", "Service/Fail"),
    ):
        with pytest.raises(grpc.aio.AioRpcError):
            await channel.unary_unary("/test.Service/Fail")(b"")


async def test_a_stream_that_its_caller_left_is_closed_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    closed = asyncio.Event()

    async def flood(_request: bytes, _context: Any) -> AsyncIterator[bytes]:
        try:
            while True:
                # More than flow control lets pass, so that the caller leaves while a message is being sent.
                yield bytes(1 << 20)
        finally:
            closed.set()

    service = service_of("Flood", grpc.unary_stream_rpc_method_handler(flood))
    async with (
        asyncio.timeout(30),
        serving(service) as address,
        grpc.aio.insecure_channel(address) as channel,
        counted("CANCELLED", "Service/Flood"),
    ):
        call = channel.unary_stream("/test.Service/Flood")(b"")
        await call.read()
        call.cancel()
        await closed.wait()
    # gRPC itself may complain that its message had nowhere to go; nothing else may.
    assert not [record for record in caplog.records if "ExecuteBatchError" not in record.getMessage()]


async def test_an_unknown_method_is_refused_and_not_remembered() -> None:
    async with serving() as address, grpc.aio.insecure_channel(address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/test.Service/Gossip")(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert REGISTRY.get_sample_value("lanemesh_rpc_seconds_count", {"method": "Service/Gossip"}) is None


async def test_a_line_tells_of_each_call_and_none_of_health_checks(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "services.runtime.served")
    async with lane_server("keyword", FakeLane()) as address, grpc.aio.insecure_channel(address) as channel:
        await health_method(channel)(HealthCheckRequest())
        await LaneServiceStub(channel).Retrieve(QUESTION)
    (line,) = [record for record in caplog.records if record.name == "services.runtime.served"]
    told = vars(line)
    assert (line.getMessage(), told["method"], told["code"]) == ("served", "LaneService/Retrieve", "OK")
    assert told["elapsed_ms"] >= 0.0


async def test_health_checks_make_no_traces_of_their_own() -> None:
    async with (
        collected(sample_rate=1.0) as collector,
        lane_server("keyword", FakeLane()) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        await health_method(channel)(HealthCheckRequest())
    assert collector.names() == []
