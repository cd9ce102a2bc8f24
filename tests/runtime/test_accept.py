"""Calls of a busy method are taken several at a time, served as by grpc.aio itself, and ended with the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import grpc
import pytest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceServicer, LaneServiceStub, add_LaneServiceServicer_to_server

from services.runtime.accept import AT_ONCE, Acceptors, Refusal, TurnAway
from services.runtime.boundary import Context
from services.runtime.server import Server, ServerSettings, Service

RETRIEVE = "/lanemesh.v1.LaneService/Retrieve"


class Holding(LaneServiceServicer):
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.answering = asyncio.Event()
        self.inside = 0
        self.came = asyncio.Semaphore(0)
        self.cancelled = asyncio.Event()

    async def Retrieve(self, request: RetrieveRequest, context: Context) -> RetrieveResponse:
        self.inside += 1
        self.came.release()
        try:
            await self.answering.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return RetrieveResponse(lane=request.query)


class Counting(grpc.aio.ServerInterceptor):
    """Counts the calls it sees."""

    def __init__(self) -> None:
        self.seen = 0

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        self.seen += 1
        return await continuation(handler_call_details)


class TurnedAway:
    """Lets nobody in, and counts whom."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, context: Context) -> Refusal | None:
        left = context.time_remaining()
        assert left is not None
        assert left <= 30.0
        self.count += 1
        return grpc.StatusCode.RESOURCE_EXHAUSTED, "full", (("hint-bin", b"later"),)


def server_of(
    servicer: Holding, *interceptors: grpc.aio.ServerInterceptor, turn_away: TurnAway | None = None
) -> Server:
    async def ready() -> None:
        return None

    service = Service(
        "lanemesh.v1.LaneService", lambda server: add_LaneServiceServicer_to_server(servicer, server), ("Retrieve",)
    )
    return Server(ServerSettings(grace_seconds=30.0, lame_duck_seconds=0.0), [service], ready, interceptors, turn_away)


class Core:
    """What grpc.aio's server is made of, as far as calls are taken from it."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    async def _request_registered_call(self, method: bytes) -> None:
        self.asked.append(method)
        await asyncio.Event().wait()


async def test_several_calls_are_asked_for_before_the_first_has_come() -> None:
    core = Core()
    server = type("Aio", (), {"_server": core})()
    acceptors = Acceptors(server, {RETRIEVE: None}, (), 256)
    acceptors.start()
    await asyncio.sleep(0)
    assert core.asked == [RETRIEVE.encode()] * AT_ONCE
    await acceptors.stop()


async def test_a_grpc_without_the_parts_takes_calls_as_it_always_did(caplog: pytest.LogCaptureFixture) -> None:
    acceptors = Acceptors(type("Aio", (), {"_server": object()})(), {RETRIEVE: None}, (), 256)
    with caplog.at_level(logging.WARNING):
        acceptors.start()
    assert "one at a time" in caplog.text
    await acceptors.stop()


async def test_the_grpc_in_use_has_the_parts(caplog: pytest.LogCaptureFixture) -> None:
    server = server_of(Holding())
    with caplog.at_level(logging.WARNING):
        await server.start()
    assert "one at a time" not in caplog.text
    await server.stop()


async def test_every_call_is_served_once_through_the_interceptors() -> None:
    servicer, counting = Holding(), Counting()
    servicer.answering.set()
    server = server_of(servicer, counting)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await server.start()}") as channel:
        retrieve = LaneServiceStub(channel).Retrieve
        queries = [str(number) for number in range(50)]
        replies = await asyncio.gather(*(retrieve(RetrieveRequest(query=query), timeout=30.0) for query in queries))
    assert [reply.lane for reply in replies] == queries
    assert (servicer.inside, counting.seen) == (50, 50)
    await server.stop()


async def test_a_call_that_its_client_gives_up_is_cancelled() -> None:
    servicer = Holding()
    server = server_of(servicer)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await server.start()}") as channel:
        call = LaneServiceStub(channel).Retrieve(RetrieveRequest(query="q"), timeout=30.0)
        await servicer.came.acquire()
        call.cancel()
        await servicer.cancelled.wait()
    await server.stop()


async def test_calls_under_way_are_finished_when_the_server_stops_and_no_more_are_taken() -> None:
    servicer = Holding()
    server = server_of(servicer)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await server.start()}") as channel:
        retrieve = LaneServiceStub(channel).Retrieve
        calls = [asyncio.ensure_future(retrieve(RetrieveRequest(query="q"), timeout=30.0)) for _ in range(20)]
        for _ in calls:
            await servicer.came.acquire()
        stopping = asyncio.ensure_future(server.stop())
        await asyncio.sleep(0)
        servicer.answering.set()
        assert [reply.lane for reply in await asyncio.gather(*calls)] == ["q"] * 20
        await stopping
        with pytest.raises(grpc.aio.AioRpcError):
            await retrieve(RetrieveRequest(query="q"), timeout=5.0)
    assert servicer.inside == 20


async def test_callers_turned_away_are_told_so_and_never_reach_the_handler() -> None:
    servicer, nobody = Holding(), TurnedAway()
    servicer.answering.set()
    server = server_of(servicer, turn_away=nobody)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await server.start()}") as channel:
        retrieve = LaneServiceStub(channel).Retrieve
        calls = [retrieve(RetrieveRequest(query="q"), timeout=30.0) for _ in range(200)]
        codes = [await call.code() for call in calls]
        refused = [call for call, code in zip(calls, codes, strict=True) if code is not grpc.StatusCode.OK]
        # grpc.aio still takes one in so many itself.
        assert servicer.inside == len(calls) - len(refused) < len(refused) == nobody.count
        for call in refused:
            assert await call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert await call.details() == "full"
            assert dict(await call.trailing_metadata())["hint-bin"] == b"later"
    await server.stop()


async def test_callers_that_leave_while_they_are_turned_away_leave_nothing_behind() -> None:
    servicer, nobody = Holding(), TurnedAway()
    servicer.answering.set()
    server = server_of(servicer, turn_away=nobody)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await server.start()}") as channel:
        retrieve = LaneServiceStub(channel).Retrieve
        for _ in range(3):
            calls = [retrieve(RetrieveRequest(query="q"), timeout=30.0) for _ in range(200)]
            await asyncio.sleep(0)
            for call in calls[::2]:
                call.cancel()
            for call in calls:
                await call.code()
    # A server that still had a call would wait out its grace.
    async with asyncio.timeout(20.0):
        await server.stop()
