"""The wait before a handler sees a call is measured by the process's own calls, which nobody else can make."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from lanemesh.v1.search_pb2 import SearchRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceServicer, SearchServiceStub, add_SearchServiceServicer_to_server

from gateway.__main__ import build
from gateway.echo import KEY, SEARCH, Echo, Shout, Wall
from services.runtime.server import Server, ServerSettings, Service
from tests.gateway.clocks import HandClock
from tests.gateway.test_main import ENVIRONMENT
from tests.support import TABLE


class Answer:
    """A call that is answered when the test says so."""

    def __init__(self) -> None:
        self.made = asyncio.Semaphore(0)
        self.answered = asyncio.Semaphore(0)

    async def __call__(self) -> None:
        self.made.release()
        await self.answered.acquire()


async def test_the_delay_is_what_two_calls_on_end_waited_the_one_still_out_included() -> None:
    clock, answer = HandClock(), Answer()
    echo = Echo(answer, every=0.0, clock=clock)
    assert echo.delay() == 0.0
    echo.start()
    for waited, expected in ((0.25, 0.0), (0.3, 0.25), (0.01, 0.01), (0.2, 0.01)):
        await answer.made.acquire()
        clock.pass_(waited)
        answer.answered.release()
        await answer.made.acquire()
        assert echo.delay() == pytest.approx(expected)
        answer.made.release()
    await echo.stop()


async def test_a_call_not_heard_of_yet_counts_beside_the_last() -> None:
    clock, answer = HandClock(), Answer()
    echo = Echo(answer, every=0.0, clock=clock)
    echo.start()
    await answer.made.acquire()
    clock.pass_(0.25)
    assert echo.delay() == 0.0
    answer.answered.release()
    await answer.made.acquire()
    clock.pass_(0.1)
    assert echo.delay() == pytest.approx(0.1)
    clock.pass_(0.3)
    assert echo.delay() == pytest.approx(0.25)
    await echo.stop()


async def ready() -> None:
    return None


async def test_only_the_processs_own_calls_are_thrown_back() -> None:
    wall = Wall()
    service = Service(
        "lanemesh.v1.SearchService",
        lambda server: add_SearchServiceServicer_to_server(SearchServiceServicer(), server),
    )
    server = Server(ServerSettings(grace_seconds=0.0, lame_duck_seconds=0.0), [service], ready, [wall])
    shout = Shout(server.own_address, wall.word)
    # Nobody listens yet, and nobody is called.
    await shout()
    await server.start()
    await shout()
    async with grpc.aio.insecure_channel(server.own_address()) as channel:
        assert await channel.unary_unary(SEARCH)(b"", metadata=((KEY, wall.word),)) == b""
        for metadata in ((), ((KEY, "guessed"),)):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await SearchServiceStub(channel).Search(SearchRequest(), metadata=metadata)
            assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    await shout.close()
    await server.stop()


@pytest.mark.parametrize(
    ("listen", "host"), [("127.0.0.1:0", "127.0.0.1"), ("0.0.0.0:0", "127.0.0.1"), ("localhost:0", "localhost")]
)
async def test_a_server_knows_where_it_reaches_itself(listen: str, host: str) -> None:
    server = Server(
        ServerSettings(listen=listen, grace_seconds=0.0, lame_duck_seconds=0.0, allow_plaintext=True), [], ready
    )
    assert server.own_address() == ""
    port = await server.start()
    assert server.own_address() == f"{host}:{port}"
    await server.stop()


async def test_the_gateway_hears_itself_while_it_serves() -> None:
    server, close = await build(TABLE.only({"keyword"}), ENVIRONMENT)
    await server.start()
    await server.stop()
    await close()
