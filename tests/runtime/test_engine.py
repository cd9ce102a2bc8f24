"""An engine's operations are spans in calls that are recorded, and themselves in all others."""

from __future__ import annotations

import inspect

import grpc
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime.engine import operation
from tests.otlp import SAMPLE, collected, said
from tests.support import FakeLane, lane_server


class Engine:
    name = "toy"

    @operation
    async def search(self, query: str, *, limit: int) -> str:
        """Finds."""
        return query * limit


class Lane(FakeLane):
    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        reply.message = await Engine().search(request.query, limit=2)


async def test_an_operation_is_a_span_only_where_somebody_records() -> None:
    async with (
        collected() as collector,
        lane_server("keyword", Lane()) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        ask = LaneServiceStub(channel).Retrieve
        question = RetrieveRequest(query="ab", max_results=1)
        assert (await ask(question)).message == (await ask(question, metadata=SAMPLE)).message == "abab"
    assert ("LaneService/Retrieve", "engine search") in collector.edges()
    assert said(collector.one("engine search")) == {"engine": "toy"}


async def test_the_method_stays_what_it_was() -> None:
    assert (Engine.search.__name__, Engine.search.__doc__) == ("search", "Finds.")
    assert inspect.isawaitable(call := Engine().search("a", limit=1))
    assert await call == "a"
