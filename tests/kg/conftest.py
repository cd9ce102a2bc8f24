"""A kg lane over each engine, and short ways to talk to it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from arango.client import ArangoClient
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import Entity, Relation, UpsertRequest
from lanemesh.v1.lane_pb2 import Filters, GraphOptions, RetrieveRequest, RetrieveResponse

from services.kg.arango_graph import DATABASE
from services.kg.lane import KgLane, open_lane
from tests.kg.arango_server import PASSWORD, USER, Arango, arango_server

Ask = Callable[..., Awaitable[RetrieveResponse]]
Store = Callable[..., Awaitable[None]]
KINDS = {Document: "document", Entity: "entity", Relation: "relation"}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"LANEMESH_HOME": str(tmp_path), "LANEMESH_KG_READERS": "2"}


@pytest.fixture
def arango() -> Iterator[Arango]:
    with arango_server(Arango()) as server:
        yield server


def at_server(url: str) -> dict[str, str]:
    return {"ARANGO_URL": url, "ARANGO_USER": USER, "ARANGO_PASSWORD": PASSWORD}


@pytest.fixture
def empty_server() -> Iterator[None]:
    """The real server, if there is one without a graph; what a test puts there is gone afterwards."""
    url, user = os.environ.get("ARANGO_URL"), os.environ.get("ARANGO_USER", "root")
    if not url:
        pytest.skip("ARANGO_URL names no server")
    system = ArangoClient(hosts=url).db("_system", user, os.environ.get("ARANGO_PASSWORD", ""))
    if system.has_database(DATABASE):
        pytest.skip(f"the server holds a database {DATABASE} already")
    yield
    system.delete_database(DATABASE, ignore_missing=True)


@pytest.fixture(params=["sqlite", "arango", "server"])
async def lane(request: pytest.FixtureRequest, environment: dict[str, str]) -> AsyncIterator[KgLane]:
    """The same cases on every engine; a real server where ARANGO_URL names one."""
    if request.param == "arango":
        environment |= at_server(request.getfixturevalue("arango").url)
    if request.param == "server":
        request.getfixturevalue("empty_server")
        environment |= {name: value for name, value in os.environ.items() if name.startswith("ARANGO_")}
    opened = await open_lane(environment)
    yield opened
    await opened.close()


def records(*given: Document | Entity | Relation) -> list[UpsertRequest]:
    return [UpsertRequest(sequence=number, **{KINDS[type(each)]: each}) for number, each in enumerate(given, start=1)]


@pytest.fixture
def store(lane: KgLane) -> Store:
    async def stored(*given: Document | Entity | Relation) -> None:
        assert not await lane.upsert(records(*given))

    return stored


@pytest.fixture
def ask(lane: KgLane) -> Ask:
    async def asked(query: str, *, graph: dict[str, Any] | None = None, limit: int = 20, **filters: Any):
        reply = RetrieveResponse()
        options = GraphOptions(**(graph or {}))
        await lane.retrieve(
            RetrieveRequest(query=query, max_results=limit, filters=Filters(**filters), graph=options), reply
        )
        return reply

    return asked


def titles(reply: RetrieveResponse) -> list[str]:
    return [evidence.document.title for evidence in reply.evidence]
