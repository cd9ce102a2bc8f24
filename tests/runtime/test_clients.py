"""Channels that find their peers again, retries of UNAVAILABLE only, and a deadline kept on this side."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanemesh.v1.lane_pb2 import LANE_STATUS_OK, RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime.__main__ import services_of
from services.runtime.clients import Peers, PeerSettings, call, open_channel, wire_time_out
from services.runtime.deadline import Deadline
from services.runtime.errors import (
    BadReply,
    DeadlinePassed,
    InvalidRequest,
    LanemeshError,
    NotImplementedHere,
    Overloaded,
    Refused,
    Unavailable,
)
from services.runtime.server import Server, ServerSettings
from tests.runtime.conftest import Clock
from tests.support import NOBODY, TABLE, FakeLane, evidence, lane_server

QUESTION = RetrieveRequest(query="q", max_results=10)
PIECES = (evidence("one"),)


async def ask(channel: grpc.aio.Channel, seconds: float = 30.0) -> RetrieveResponse:
    reply: RetrieveResponse = await call(LaneServiceStub(channel).Retrieve, QUESTION, Deadline.after(seconds))
    return reply


@asynccontextmanager
async def asking(lane: FakeLane) -> AsyncIterator[grpc.aio.Channel]:
    async with lane_server("keyword", lane) as address, open_channel(address) as channel:
        yield channel


@dataclass
class Faltering(FakeLane):
    """A lane whose first attempts fail."""

    failures: list[Exception] = field(default_factory=list)

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        self.error = self.failures.pop(0) if self.failures else None
        await super().retrieve(request, reply)


async def test_a_call_that_is_answered() -> None:
    async with asking(FakeLane(PIECES)) as channel:
        assert (await ask(channel)).status == LANE_STATUS_OK


async def test_unavailable_is_tried_again() -> None:
    lane = Faltering(PIECES, failures=[Unavailable("not yet")])
    async with asking(lane) as channel:
        assert (await ask(channel)).status == LANE_STATUS_OK
    assert len(lane.asked) == 2


async def test_unavailable_is_tried_three_times_at_most() -> None:
    lane = FakeLane(error=Unavailable("never"))
    async with asking(lane) as channel:
        with pytest.raises(Unavailable, match="never"):
            await ask(channel)
    assert len(lane.asked) == 3


async def test_no_other_status_is_tried_again() -> None:
    refusals = [Overloaded("busy"), InvalidRequest("query", "no"), NotImplementedHere("no"), Refused("no"), OSError()]
    lane = FakeLane()
    async with asking(lane) as channel:
        for attempts, error in enumerate(refusals, start=1):
            lane.error = error
            with pytest.raises(LanemeshError):
                await ask(channel)
            assert len(lane.asked) == attempts


async def test_a_call_out_of_time_is_not_tried_again() -> None:
    async with silent_service() as (address, asked), open_channel(address) as channel:
        await channel.channel_ready()
        with pytest.raises(DeadlinePassed):
            await ask(channel, 0.5)
    assert len(asked) == 1


@asynccontextmanager
async def generic(handler: Callable[[Any, Any], Any]) -> AsyncIterator[str]:
    """A server that answers Retrieve with whatever bytes the handler returns."""
    server = grpc.aio.server()
    method = grpc.unary_unary_rpc_method_handler(handler)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("lanemesh.v1.LaneService", {"Retrieve": method}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


@asynccontextmanager
async def silent_service() -> AsyncIterator[tuple[str, list[int]]]:
    """A server that takes calls and never answers them."""
    asked: list[int] = []

    async def never(_request: bytes, _context: Any) -> bytes:
        asked.append(1)
        await asyncio.Event().wait()
        return b""

    async with generic(never) as address:
        yield address, asked


async def test_the_deadline_is_kept_against_a_peer_that_accepts_and_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        async with open_channel(f"127.0.0.1:{mute.getsockname()[1]}") as channel:
            with pytest.raises(DeadlinePassed):
                await ask(channel, 0.2)


async def test_the_deadline_is_kept_even_when_the_library_does_not() -> None:
    gone = asyncio.Event()

    async def waiting() -> object:
        try:
            return await asyncio.Event().wait()
        finally:
            gone.set()

    def deaf(_request: object, **_options: object) -> asyncio.Future[object]:
        return asyncio.ensure_future(waiting())

    async with asyncio.timeout(10):
        with pytest.raises(DeadlinePassed):
            await call(deaf, QUESTION, Deadline.after(0.01))  # type: ignore[arg-type]
    assert gone.is_set()


async def test_a_deadline_that_has_passed_makes_no_call(clock: Clock) -> None:
    lane = FakeLane(PIECES)
    deadline = Deadline.after(1.0, clock)
    clock.now += 2.0
    async with asking(lane) as channel:
        with pytest.raises(DeadlinePassed):
            await call(LaneServiceStub(channel).Retrieve, QUESTION, deadline)
    assert not lane.asked


async def test_the_peer_is_told_of_less_time_than_is_left() -> None:
    told: list[float] = []

    async def tell(_request: bytes, context: Any) -> bytes:
        told.append(context.time_remaining())
        return RetrieveResponse().SerializeToString()

    async with generic(tell) as address, open_channel(address) as channel:
        for seconds in (500.0, 5_000.0):
            await ask(channel, seconds)
    assert 250.0 < told[0] < 500.0 < told[1] < 5_000.0


async def test_a_reply_that_does_not_parse_is_a_bad_reply() -> None:
    async def nonsense(_request: bytes, _context: Any) -> bytes:
        return b"\xff\xff\xff"

    async with generic(nonsense) as address, open_channel(address) as channel:
        with pytest.raises(BadReply):
            await ask(channel)


async def test_a_reply_beyond_the_limit_is_refused() -> None:
    lane = FakeLane([evidence("one", "x" * 4096)])
    async with lane_server("keyword", lane) as address, open_channel(address, max_reply_bytes=1024) as channel:
        with pytest.raises(Overloaded):
            await ask(channel)


async def test_a_method_the_peer_lacks_is_not_implemented() -> None:
    async with asking(FakeLane(PIECES)) as channel:
        unheard = channel.unary_unary(
            "/lanemesh.v1.LaneService/Gossip", RetrieveRequest.SerializeToString, RetrieveResponse.FromString
        )
        with pytest.raises(NotImplementedHere):
            await call(unheard, QUESTION, Deadline.after(30.0))


async def test_nobody_at_the_address_is_unavailable() -> None:
    async with open_channel(NOBODY) as channel:
        with pytest.raises(Unavailable):
            await ask(channel)


async def test_a_restarted_peer_is_found_again_over_the_same_channel() -> None:
    lane = FakeLane(PIECES)

    async def start(listen: str) -> tuple[Server, int]:
        settings = ServerSettings(listen=listen, grace_seconds=0.0)
        server = Server(settings, services_of("keyword", lane, TABLE), lane.check)
        return server, await server.start()

    first, port = await start("127.0.0.1:0")
    async with open_channel(f"127.0.0.1:{port}") as channel, asyncio.timeout(30):
        assert (await ask(channel)).status == LANE_STATUS_OK
        await first.stop()
        with pytest.raises(Unavailable):
            await ask(channel)
        second, _ = await start(f"127.0.0.1:{port}")
        await channel.channel_ready()
        assert (await ask(channel)).status == LANE_STATUS_OK
        await second.stop()


def rounded_up(seconds: float) -> float:
    """What gRPC makes of a time-out on the wire."""
    unit = next(unit for bound, unit in ((1.0, 0.001), (10.0, 0.01), (100.0, 0.1)) if seconds < bound)
    return math.ceil(round(seconds / unit, 9)) * unit


@given(st.floats(min_value=0.0016, max_value=99.0))
def test_a_time_out_rounded_up_on_the_wire_still_ends_in_time(left: float) -> None:
    sent = wire_time_out(left)
    assert 0 < sent < left
    assert rounded_up(sent) <= left + 1e-9


@given(st.floats(min_value=0.0, max_value=0.0016, exclude_min=True))
def test_a_time_out_is_never_zero_since_zero_would_still_run_the_call(left: float) -> None:
    assert wire_time_out(left) > 0


def test_addresses_are_filled_in_from_the_table() -> None:
    settings = PeerSettings(address="{name}.mesh.local:{port}", port_base=7000)
    assert settings.address_of("keyword", 5) == "keyword.mesh.local:7005"


async def test_peers_are_the_enabled_lanes_and_fusion_each_over_one_channel() -> None:
    peers = Peers.of_table(TABLE.only({"vector", "local"}), PeerSettings(port_base=7000))
    assert peers.addresses == {"vector": "127.0.0.1:7003", "local": "127.0.0.1:7008", "fusion": "127.0.0.1:7001"}
    assert peers.channel("vector") is peers.channel("vector")
    await peers.close()
    with pytest.raises(grpc.aio.UsageError):
        await ask(peers.channel("local"))
