"""What a server offers, what it refuses, and how it stops."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from lanemesh.v1.lane_pb2 import LANE_STATUS_OK, RetrieveRequest
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime.__main__ import services_of
from services.runtime.clients import health_method
from services.runtime.errors import StartupError
from services.runtime.server import Server, ServerSettings
from tests.runtime.conftest import Watched
from tests.runtime.processes import Running, environment, running
from tests.support import TABLE, FakeLane, evidence, lane_server

QUESTION = RetrieveRequest(query="q", max_results=10)
PATIENT = "tests.runtime.patient"


def server_of(lane: FakeLane, settings: ServerSettings) -> Server:
    return Server(settings, services_of("keyword", lane, TABLE), lane.check)


@asynccontextmanager
async def asking(lane: FakeLane, settings: ServerSettings) -> AsyncIterator[LaneServiceStub]:
    server = server_of(lane, settings)
    port = await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield LaneServiceStub(channel)
    await server.stop()


async def test_reflection_lists_every_service() -> None:
    async with lane_server("keyword", FakeLane()) as address, grpc.aio.insecure_channel(address) as channel:
        call = ServerReflectionStub(channel).ServerReflectionInfo(iter([ServerReflectionRequest(list_services="")]))
        reply = await call.read()
        call.cancel()
    assert {service.name for service in reply.list_services_response.service} == {
        "lanemesh.v1.LaneService",
        "lanemesh.v1.IndexService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }


async def test_health_follows_the_lanes_own_check() -> None:
    lane = FakeLane(healthy=False)
    async with lane_server("keyword", lane) as address, grpc.aio.insecure_channel(address) as channel:
        check = health_method(channel)
        assert (await check(HealthCheckRequest())).status == HealthCheckResponse.NOT_SERVING
        assert (await check(HealthCheckRequest(service="liveness"))).status == HealthCheckResponse.SERVING


async def test_a_message_too_large_is_refused() -> None:
    lane = FakeLane()
    async with asking(lane, ServerSettings(max_message_bytes=1024)) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Retrieve(RetrieveRequest(query="x" * 2048, max_results=1))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await stub.Retrieve(QUESTION)
    assert len(lane.asked) == 1


async def test_calls_beyond_the_limit_are_refused_and_accepted_again_later() -> None:
    lane = FakeLane([evidence("one")], gate=asyncio.Event())
    async with asking(lane, ServerSettings(max_concurrent=1)) as stub:
        first = stub.Retrieve(QUESTION, timeout=60)
        await lane.started.wait()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Retrieve(QUESTION, timeout=60)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert lane.gate
        lane.gate.set()
        assert (await first).status == LANE_STATUS_OK
        assert (await stub.Retrieve(QUESTION, timeout=60)).status == LANE_STATUS_OK
    assert len(lane.asked) == 2


@pytest.mark.parametrize("listen", ["127.0.0.1:not-a-port", "no.such.host.invalid:0"])
async def test_an_address_that_cannot_be_bound_is_named(listen: str) -> None:
    server = server_of(FakeLane(), ServerSettings(listen=listen, allow_plaintext=True))
    with pytest.raises(StartupError, match=f"LANEMESH_LISTEN={listen}"):
        await server.start()
    await server.stop()


async def test_a_port_that_is_taken_is_not_shared() -> None:
    async with lane_server("keyword", FakeLane()) as address:
        second = server_of(FakeLane(), ServerSettings(listen=address))
        with pytest.raises(StartupError, match=f"LANEMESH_LISTEN={address}: the address cannot be bound"):
            await second.start()
        await second.stop()


async def test_a_call_longer_than_the_grace_period_is_cut() -> None:
    lane = Watched(gate=asyncio.Event())
    server = server_of(lane, ServerSettings(grace_seconds=0.01))
    port = await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = LaneServiceStub(channel).Retrieve(QUESTION, timeout=60)
        await lane.started.wait()
        await server.stop()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        await lane.ended.wait()
    assert caught.value.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}


async def refuses(process: Running) -> bool:
    """Whether somebody who comes now is turned away."""
    async with grpc.aio.insecure_channel(process.address) as channel:
        try:
            reply = await health_method(channel)(HealthCheckRequest(), timeout=30)
        except grpc.aio.AioRpcError as error:
            # A call that comes in just as the listener closes is cancelled by gRPC itself.
            return error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
        return reply.status == HealthCheckResponse.NOT_SERVING


async def test_the_first_signal_lets_the_call_in_flight_finish(tmp_path: Path) -> None:
    async with running(PATIENT, environment=environment(tmp_path)) as process:
        assert not await refuses(process)
        async with grpc.aio.insecure_channel(process.address) as channel:
            call = LaneServiceStub(channel).Retrieve(QUESTION, timeout=60)
            await process.logged("asked")
            process.process.send_signal(signal.SIGTERM)
            await process.logged("draining")
            assert await refuses(process)
            assert not call.done()
            process.tell()
            assert (await call).status == LANE_STATUS_OK
        await process.logged("closed")
        await process.logged("stopped")
        assert await process.process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_second_signal_ends_the_process_at_once(tmp_path: Path, number: signal.Signals) -> None:
    async with (
        running(PATIENT, environment=environment(tmp_path)) as process,
        grpc.aio.insecure_channel(process.address) as channel,
    ):
        call = LaneServiceStub(channel).Retrieve(QUESTION, timeout=60)
        await process.logged("asked")
        process.process.send_signal(number)
        await process.logged("draining")
        process.process.send_signal(number)
        assert await process.process.wait() == 130
        with pytest.raises(grpc.aio.AioRpcError):
            await call


async def test_a_lame_duck_is_not_ready_and_still_answers(tmp_path: Path) -> None:
    settings = environment(tmp_path, LANEMESH_LAME_DUCK_SECONDS="60")
    async with running(PATIENT, environment=settings) as process:
        process.process.send_signal(signal.SIGTERM)
        await process.logged("draining")
        async with grpc.aio.insecure_channel(process.address) as channel:
            reply = await health_method(channel)(HealthCheckRequest(), timeout=30)
            assert reply.status == HealthCheckResponse.NOT_SERVING
            now = RetrieveRequest(query="now", max_results=1)
            assert (await LaneServiceStub(channel).Retrieve(now, timeout=30)).status == LANE_STATUS_OK
