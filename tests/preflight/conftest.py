"""A preflight lane over a vocabulary of its own, and short ways to talk to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import UpsertRequest
from lanemesh.v1.lane_pb2 import Preflight, RetrieveRequest, RetrieveResponse, SuggestionType

from services.preflight.lane import PreflightLane, open_lane

Ask = Callable[..., Awaitable[RetrieveResponse]]
Store = Callable[..., Awaitable[None]]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"LANEMESH_HOME": str(tmp_path), "LANEMESH_PREFLIGHT_READERS": "1"}


@pytest.fixture
async def lane(environment: dict[str, str]) -> AsyncIterator[PreflightLane]:
    opened = await open_lane(environment)
    yield opened
    await opened.close()


@pytest.fixture
def ask(lane: PreflightLane) -> Ask:
    async def asked(query: str, **fields: Any) -> RetrieveResponse:
        return await answer(lane, query, **fields)

    return asked


@pytest.fixture
def store(lane: PreflightLane) -> Store:
    async def stored(*documents: Document) -> None:
        records = [UpsertRequest(sequence=number, document=each) for number, each in enumerate(documents, start=1)]
        assert not await lane.upsert(records)

    return stored


async def answer(lane: PreflightLane, query: str, **fields: Any) -> RetrieveResponse:
    """What the lane replies to a query."""
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(**{"query": query, "max_results": 3} | fields), reply)
    return reply


def kinds(advice: Preflight) -> list[str]:
    """The types of its suggestions, in order."""
    return [SuggestionType.Name(each.type).removeprefix("SUGGESTION_TYPE_").lower() for each in advice.suggestions]


def queries(advice: Preflight) -> list[str]:
    """Its proposed queries, in order."""
    return [each.refined_query for each in advice.suggestions]
