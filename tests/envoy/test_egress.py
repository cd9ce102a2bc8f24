"""The gateway goes out: balancing, health, ejection, retries and deadlines over the real Envoy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
import pytest_asyncio
from lanemesh.v1 import lane_pb2_grpc
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime.clients import open_channel
from services.runtime.server import Service
from tests.envoy.running import Door, free_base, http, running, values_of
from tests.support import serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = RetrieveRequest(query="stock", max_results=5)
Behaviour = Callable[["Replica", Any], Coroutine[Any, Any, None]]


async def well(replica: Replica, context: Any) -> None:
    return None


async def sick(replica: Replica, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAVAILABLE, "the engine is away")


async def hung(replica: Replica, context: Any) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        replica.given_up.set()


@dataclass
class Replica(lane_pb2_grpc.LaneServiceServicer):
    """A lane below the runtime: what it is told of time, and any way to fail."""

    behaviour: Behaviour = well
    healthy: bool = True
    # Seconds left of each call that arrived.
    left: list[float | None] = field(default_factory=list)
    given_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def Retrieve(self, request: RetrieveRequest, context: Any) -> RetrieveResponse:
        self.left.append(context.time_remaining())
        await self.behaviour(self, context)
        return RetrieveResponse(lane="replica")

    async def check(self) -> None:
        if not self.healthy:
            raise RuntimeError("not well")


@dataclass
class Lanes:
    door: Door
    replicas: dict[str, Sequence[Replica]]

    async def ask(self, lane: str, seconds: float | None = 5.0) -> grpc.StatusCode:
        """Asks once, by a caller that does not retry."""
        options = [("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(self.door.egress(lane), options=options) as channel:
            try:
                await LaneServiceStub(channel).Retrieve(QUESTION, timeout=seconds)
            except grpc.aio.AioRpcError as error:
                return error.code()
        return grpc.StatusCode.OK

    async def figure(self, name: str, lane: str) -> float:
        """A figure of Envoy about the replicas of a lane."""
        _, _, raw = await http(self.door.metrics, "GET", "/stats/prometheus")
        start = f'envoy_cluster_{name}{{envoy_cluster_name="{lane}"}} '
        return next(
            (float(line.removeprefix(start)) for line in raw.decode().splitlines() if line.startswith(start)), 0
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lanes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lanes]:
    """Each lane is for one test: what a test does to its replicas, Envoy remembers."""
    replicas = {
        "vector": [Replica(), Replica()],
        "keyword": [Replica(), Replica(sick)],
        "kg": [Replica(), Replica(healthy=False)],
        "local": [Replica(sick)],
        "news": [Replica(sick), Replica(sick)],
        "web": [Replica(hung)],
        "markets": [Replica(), Replica()],
    }
    async with AsyncExitStack() as stack:
        endpoints = {
            name: [await stack.enter_async_context(serve(replica)) for replica in several]
            for name, several in replicas.items()
        }
        folder = tmp_path_factory.mktemp("envoy")
        # Out for the rest of the test, and limits that a few calls reach.
        more = {
            "outlier": {"out_ms": 600_000, "longest_out_ms": 600_000},
            "egress": {"requests": 8},
            "retry": {"least_concurrent": 3},
        }
        door = Door(free_base(), folder)
        await stack.enter_async_context(running(door, values_of(door.base, folder, endpoints, more)))
        yield Lanes(door, replicas)


def serve(replica: Replica) -> Any:
    def register(server: grpc.aio.Server) -> None:
        lane_pb2_grpc.add_LaneServiceServicer_to_server(replica, server)

    return serving(Service("lanemesh.v1.LaneService", register), check=replica.check)


async def test_calls_spread_over_the_replicas(lanes):
    assert {await lanes.ask("vector") for _ in range(40)} == {grpc.StatusCode.OK}
    assert all(len(replica.left) >= 5 for replica in lanes.replicas["vector"])


async def test_the_deadline_is_neither_extended_nor_dropped_nor_made_up(lanes):
    replica = lanes.replicas["vector"][0]
    for timeout in (0.7, 3.0, None):
        before = len(replica.left)
        while len(replica.left) == before:
            assert await lanes.ask("vector", timeout) is grpc.StatusCode.OK
        left = replica.left[-1]
        if timeout is None:
            assert left is None
        else:
            # gRPC itself rounds up on the wire: by up to 1 ms below a second, 10 ms above.
            assert left is not None
            assert timeout / 2 < left <= timeout + (0.001 if timeout < 1 else 0.010)


async def test_a_retry_gets_what_the_first_try_left(lanes):
    one, other = lanes.replicas["markets"]
    spent = 0.25

    async def late_and_sick(replica: Replica, context: Any) -> None:
        replica.behaviour = (other if replica is one else one).behaviour = well
        await asyncio.sleep(spent)
        await context.abort(grpc.StatusCode.UNAVAILABLE, "the engine is away")

    one.behaviour = other.behaviour = late_and_sick
    assert await lanes.ask("markets", 2.0) is grpc.StatusCode.OK
    first, second = sorted((one.left + other.left), reverse=True)
    assert second <= first - spent


async def test_a_call_that_hangs_ends_by_its_deadline(lanes):
    replica = lanes.replicas["web"][0]
    assert await lanes.ask("web", 0.3) is grpc.StatusCode.DEADLINE_EXCEEDED
    # The lane is told, so that nothing goes on below.
    await asyncio.wait_for(replica.given_up.wait(), 10)


async def test_a_sick_replica_is_left_alone_and_nobody_notices(lanes):
    _, ailing = lanes.replicas["keyword"]
    before = -1
    # Rounds until one passes in which it was not asked; by chance alone that would be one in a thousand million.
    while len(ailing.left) != before:
        before = len(ailing.left)
        assert {await lanes.ask("keyword") for _ in range(30)} == {grpc.StatusCode.OK}
    assert before > 0
    assert await lanes.figure("outlier_detection_ejections_active", "keyword") == 1


async def test_a_replica_that_says_it_is_not_ready_is_not_asked(lanes):
    ready, unready = lanes.replicas["kg"]
    assert {await lanes.ask("kg") for _ in range(20)} == {grpc.StatusCode.OK}
    assert (len(ready.left), len(unready.left)) == (20, 0)


async def test_retries_of_envoy_and_of_the_gateway_do_not_multiply(lanes):
    (replica,) = lanes.replicas["local"]
    # As the gateway opens it: this channel would try three times.
    async with open_channel(lanes.door.egress("local")) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await LaneServiceStub(channel).Retrieve(QUESTION, timeout=5.0)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
    assert len(replica.left) == 3, "the call and two retries"


async def test_retries_stop_at_their_budget(lanes):
    # More at once than the budget has room for: three, or a fifth of the calls.
    calls = 8
    assert set(await asyncio.gather(*(lanes.ask("news") for _ in range(calls)))) == {grpc.StatusCode.UNAVAILABLE}
    assert await lanes.figure("upstream_rq_retry_overflow", "news") > 0
    assert sum(len(replica.left) for replica in lanes.replicas["news"]) < 3 * calls


async def test_calls_beyond_the_limit_are_refused_at_once(lanes):
    (replica,) = lanes.replicas["web"]
    before = len(replica.left)
    held = [asyncio.create_task(lanes.ask("web", 30.0)) for _ in range(8)]
    try:
        async with asyncio.timeout(10):
            while len(replica.left) < before + 8:  # noqa: ASYNC110 - Envoy is another process
                await asyncio.sleep(0.01)
        assert await lanes.ask("web") is grpc.StatusCode.UNAVAILABLE
        assert len(replica.left) == before + 8
    finally:
        for call in held:
            call.cancel()
        await asyncio.gather(*held, return_exceptions=True)
