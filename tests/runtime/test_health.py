"""Readiness follows the check; liveness does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from services.runtime.health import LIVENESS, Health
from tests.runtime.conftest import Clock

LANE = "lanemesh.v1.LaneService"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICE_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


@dataclass
class Engine:
    """What a check looks at."""

    well: bool = True
    asked: int = 0
    started: asyncio.Event = field(default_factory=asyncio.Event)
    # While set, the check waits for it.
    gate: asyncio.Event | None = None

    async def check(self) -> None:
        self.asked += 1
        self.started.set()
        if self.gate is not None:
            await self.gate.wait()
        if not self.well:
            raise RuntimeError("the engine is away")


@asynccontextmanager
async def served(health: Health) -> AsyncIterator[health_pb2_grpc.HealthStub]:
    server = grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield health_pb2_grpc.HealthStub(channel)
    await server.stop(None)


def about(service: str = "") -> health_pb2.HealthCheckRequest:
    return health_pb2.HealthCheckRequest(service=service)


async def test_the_check_is_asked_once_within_its_time_to_live(clock: Clock) -> None:
    engine = Engine()
    health = Health(engine.check, [LANE], time_to_live=5.0, clock=clock)
    assert await health.ready()
    clock.now += 4.9
    engine.well = False
    assert await health.ready()
    assert engine.asked == 1
    clock.now += 0.1
    assert not await health.ready()
    assert engine.asked == 2


async def test_a_failure_is_remembered_no_longer_than_a_success(clock: Clock) -> None:
    engine = Engine(well=False)
    health = Health(engine.check, [LANE], time_to_live=5.0, clock=clock)
    assert not await health.ready()
    engine.well = True
    assert not await health.ready()
    clock.now += 5.0
    assert await health.ready()


async def test_callers_at_once_share_one_check(clock: Clock) -> None:
    engine = Engine(gate=asyncio.Event())
    health = Health(engine.check, [LANE], clock=clock, time_out=60.0)
    callers = [asyncio.create_task(health.ready()) for _ in range(10)]
    await engine.started.wait()
    assert engine.gate
    engine.gate.set()
    assert await asyncio.gather(*callers) == [True] * 10
    assert engine.asked == 1


async def test_a_caller_who_leaves_does_not_spoil_the_check(clock: Clock) -> None:
    engine = Engine(gate=asyncio.Event())
    health = Health(engine.check, [LANE], clock=clock, time_out=60.0)
    caller = asyncio.create_task(health.ready())
    await engine.started.wait()
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    engine.gate = None
    assert await health.ready()


async def test_a_check_that_takes_too_long_means_not_ready(clock: Clock) -> None:
    engine = Engine(gate=asyncio.Event())
    assert not await Health(engine.check, [LANE], time_out=0.01, clock=clock).ready()


async def test_the_reason_is_logged_once_per_change(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine()
    health = Health(engine.check, [LANE], time_to_live=1.0, clock=clock)
    await health.ready()
    engine.well = False
    for _ in range(3):
        clock.now += 1.0
        await health.ready()
    assert [record.message for record in caplog.records] == ["not ready: the engine is away"]


@pytest.mark.parametrize("service", ["", LANE])
async def test_the_process_and_its_services_follow_the_check(clock: Clock, service: str) -> None:
    engine = Engine()
    async with served(Health(engine.check, [LANE], time_to_live=1.0, clock=clock)) as stub:
        assert (await stub.Check(about(service))).status == SERVING
        engine.well = False
        clock.now += 1.0
        assert (await stub.Check(about(service))).status == NOT_SERVING


async def test_liveness_never_asks_the_check() -> None:
    engine = Engine(well=False)
    health = Health(engine.check, [LANE])
    async with served(health) as stub:
        assert (await stub.Check(about(LIVENESS))).status == SERVING
        health.drain()
        assert (await stub.Check(about(LIVENESS))).status == SERVING
    assert engine.asked == 0


async def test_draining_overrules_a_check_that_passes() -> None:
    health = Health(Engine().check, [LANE])
    async with served(health) as stub:
        assert (await stub.Check(about())).status == SERVING
        health.drain()
        assert (await stub.Check(about())).status == NOT_SERVING


async def test_draining_overrules_a_check_under_way() -> None:
    engine = Engine(gate=asyncio.Event())
    health = Health(engine.check, [LANE], time_out=60.0)
    caller = asyncio.create_task(health.ready())
    await engine.started.wait()
    health.drain()
    assert engine.gate
    engine.gate.set()
    assert not await caller


async def test_an_unknown_service_is_not_found() -> None:
    async with served(Health(Engine().check, [LANE])) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(about("lanemesh.v1.Gossip"))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert (await stub.Watch(about("lanemesh.v1.Gossip")).read()).status == SERVICE_UNKNOWN


async def test_a_watcher_hears_of_every_change_and_of_the_end() -> None:
    engine = Engine()
    health = Health(engine.check, [LANE], time_to_live=0.001)
    async with served(health) as stub, asyncio.timeout(30):
        watch = stub.Watch(about(LANE))
        assert (await watch.read()).status == SERVING
        engine.well = False
        assert (await watch.read()).status == NOT_SERVING
        engine.well = True
        assert (await watch.read()).status == SERVING
        health.drain()
        assert (await watch.read()).status == NOT_SERVING
        assert await watch.read() is grpc.aio.EOF


async def test_a_watcher_hears_of_a_drain_that_begins_while_it_is_being_told() -> None:
    health = Health(Engine().check, [LANE], time_to_live=60.0)
    watch = health.Watch(about(), None)  # type: ignore[arg-type]
    assert (await anext(watch)).status == SERVING
    health.drain()
    assert [reply.status async for reply in watch] == [NOT_SERVING]


async def test_a_watcher_hears_nothing_while_nothing_changes() -> None:
    engine = Engine()
    health = Health(engine.check, [LANE], time_to_live=0.001)
    async with served(health) as stub, asyncio.timeout(30):
        watch = stub.Watch(about())
        assert (await watch.read()).status == SERVING
        while engine.asked < 5:
            engine.started.clear()
            await engine.started.wait()
        health.drain()
        assert (await watch.read()).status == NOT_SERVING
