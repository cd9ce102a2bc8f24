"""While the gateway is crowded a search is looked at before it is read: refused with a hint, or answered as ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import grpc
import pytest
from lanemesh.v1.search_pb2 import PlanRequest, PlanResponse, SearchRequest, SearchResponse
from lanemesh.v1.search_pb2_grpc import SearchServiceServicer, SearchServiceStub, add_SearchServiceServicer_to_server

from gateway.admission import Gate
from gateway.doorman import Doorman
from gateway.echo import SEARCH
from services.runtime.boundary import Context
from services.runtime.deadline import Deadline
from services.runtime.errors import Overloaded, from_status
from services.runtime.served import RPCS
from services.runtime.server import Server, ServerSettings, Service
from tests.support import TABLE

ROW = replace(
    TABLE.protection.limit, minimum=1, initial=1, maximum=1, queue=1, wait_ms=60_000, wait_share=0.5, window=1_000
)


class Answering(SearchServiceServicer):
    """Answers every search with its own query."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def Search(self, request: SearchRequest, context: Context) -> SearchResponse:
        self.asked.append(request.query)
        return SearchResponse(answer=request.query)

    async def Plan(self, request: PlanRequest, context: Context) -> PlanResponse:
        return PlanResponse()


@asynccontextmanager
async def behind_a_doorman(gate: Gate, servicer: Answering) -> AsyncIterator[grpc.aio.Channel]:
    async def ready() -> None:
        return None

    service = Service("lanemesh.v1.SearchService", lambda server: add_SearchServiceServicer_to_server(servicer, server))
    settings = ServerSettings(grace_seconds=0.0, lame_duck_seconds=0.0)
    server = Server(settings, [service], ready, [Doorman(gate, 5_000.0)])
    port = await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop()


@asynccontextmanager
async def crowd(gate: Gate, waiting: int) -> AsyncIterator[None]:
    """One request inside, so many in the queue."""

    async def wait() -> None:
        async with gate.visit(Deadline.after(1000.0)):
            pass

    async with gate.visit(Deadline.after(1000.0)):
        tasks = [asyncio.ensure_future(wait()) for _ in range(waiting)]
        await asyncio.sleep(0)
        yield
    await asyncio.gather(*tasks)


def refused() -> float:
    value: float = RPCS.of("SearchService/Search", "RESOURCE_EXHAUSTED").value
    return value


async def test_a_full_gateway_refuses_with_a_hint_before_the_handler_and_counts_it() -> None:
    gate, servicer, before = Gate(ROW), Answering(), refused()
    async with behind_a_doorman(gate, servicer) as channel:
        search = SearchServiceStub(channel).Search
        async with crowd(gate, waiting=1):
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await search(SearchRequest(query="q"), timeout=30.0)
        assert servicer.asked == []
        error = from_status(failed.value)
        assert isinstance(error, Overloaded)
        assert error.retry_after is not None
        assert error.retry_after > 0.0
        assert refused() == before + 1
        assert (await search(SearchRequest(query="again"), timeout=30.0)).answer == "again"


@pytest.mark.parametrize("deadline", [30.0, None])
async def test_a_crowded_gateway_that_has_room_in_its_queue_reads_the_message_and_answers(
    deadline: float | None,
) -> None:
    gate, servicer = Gate(ROW), Answering()
    async with behind_a_doorman(gate, servicer) as channel, crowd(gate, waiting=0):
        search = SearchServiceStub(channel).Search
        for query in ("first", "second"):
            assert (await search(SearchRequest(query=query), timeout=deadline)).answer == query


async def test_a_search_whose_deadline_the_queue_would_miss_is_refused() -> None:
    gate, servicer = Gate(ROW), Answering()
    async with behind_a_doorman(gate, servicer) as channel:
        async with gate.visit(Deadline.after(1000.0)):
            pass
        gate.leave(100.0, None)
        gate.in_flight += 1
        async with crowd(gate, waiting=0):
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await SearchServiceStub(channel).Search(SearchRequest(query="q"), timeout=5.0)
    assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert servicer.asked == []


async def test_other_methods_pass() -> None:
    gate = Gate(ROW)
    async with behind_a_doorman(gate, Answering()) as channel, crowd(gate, waiting=1):
        assert await SearchServiceStub(channel).Plan(PlanRequest(), timeout=30.0) == PlanResponse()


async def test_a_search_without_a_message_is_refused_as_invalid() -> None:
    def nothing() -> Iterator[bytes]:
        return iter(())

    gate, servicer = Gate(ROW), Answering()
    async with behind_a_doorman(gate, servicer) as channel, crowd(gate, waiting=0):
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await channel.stream_unary(SEARCH)(nothing(), timeout=30.0)
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert servicer.asked == []
