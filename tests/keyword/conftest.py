"""A keyword lane over an index of its own, on every engine, and short ways to talk to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import UpsertRequest
from lanemesh.v1.lane_pb2 import Filters, RetrieveRequest, RetrieveResponse

from services.keyword.lane import KeywordLane, open_lane
from tests.keyword.engines import ENGINES, environment_of

Search = Callable[..., Awaitable[RetrieveResponse]]
Store = Callable[..., Awaitable[None]]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def environment(engine: str, tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    async with environment_of(engine, tmp_path) as variables:
        yield variables


@pytest.fixture
async def lane(environment: dict[str, str]) -> AsyncIterator[KeywordLane]:
    opened = await open_lane(environment)
    yield opened
    await opened.close()


@pytest.fixture
def store(lane: KeywordLane) -> Store:
    async def stored(*documents: Document) -> None:
        records = [UpsertRequest(sequence=number, document=each) for number, each in enumerate(documents, start=1)]
        assert not await lane.upsert(records)

    return stored


@pytest.fixture
def search(lane: KeywordLane) -> Search:
    async def searched(query: str, max_results: int = 10, **filters: Any) -> RetrieveResponse:
        reply = RetrieveResponse()
        request = RetrieveRequest(query=query, max_results=max_results, filters=Filters(**filters))
        await lane.retrieve(request, reply)
        return reply

    return searched


@pytest.fixture
def found(search: Search) -> Callable[..., Awaitable[set[str]]]:
    async def identities(query: str, **filters: Any) -> set[str]:
        return {evidence.document.id for evidence in (await search(query, 100, **filters)).evidence}

    return identities
