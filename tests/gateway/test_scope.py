"""The graph limits the document search: end to end over fake lanes, in each of the three modes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from lanemesh.v1 import lane_pb2, search_pb2
from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse

from services.runtime.errors import Unavailable
from services.runtime.registry import Table, load_table
from tests.gateway.reading import UNHURRIED, ids, row
from tests.support import FakeLane, evidence, mesh

CROSS = "What patterns do other teams use for customer tables?"
TABLE = replace(UNHURRIED, routing=load_table().routing)


@dataclass
class Graph(FakeLane):
    """Answers with a scope."""

    projects: Sequence[str] = ("billing", "crm")
    entities: Sequence[str] = ("customers",)

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        await super().retrieve(request, reply)
        reply.scope.projects.extend(self.projects)
        reply.scope.entities.extend(self.entities)


@dataclass
class Documents(FakeLane):
    """Finds documents by project; an unlimited search may be made to hang."""

    by_project: dict[str, list[str]] = field(default_factory=dict)
    hangs_unlimited: bool = False
    limited_error: Exception | None = None
    given_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        self.asked.append(request)
        wanted = request.filters.projects or self.by_project
        if request.filters.projects and self.limited_error:
            raise self.limited_error
        if not request.filters.projects and self.hangs_unlimited:
            try:
                await asyncio.Event().wait()
            finally:
                self.given_up.set()
        for project in wanted:
            reply.evidence.extend(self._found(project, request.filters.projects))

    def _found(self, project: str, scope: Sequence[str]) -> list[Evidence]:
        return [
            Evidence(document=evidence(name, project=project).document, score=1.0, scope=scope)
            for name in self.by_project.get(project, ())
        ]


STOCK = {"other": ["o1", "o2"], "billing": ["b1", "b2"], "crm": ["c1", "c2"]}


async def ask(
    graph: FakeLane | str, documents: Documents, table: Table = TABLE, query: str = CROSS, **fields: object
) -> SearchResponse:
    async with mesh({"kg": graph, "vector": documents}, table=table) as running, asyncio.timeout(30):
        return await running.search.Search(SearchRequest(query=query, **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["SCOPE_MODE_UNSPECIFIED", "SCOPE_MODE_PARALLEL_RESEARCH", "SCOPE_MODE_SEQUENTIAL"])
async def test_evidence_comes_only_from_the_projects_in_scope(mode: str) -> None:
    documents = Documents(by_project=STOCK)
    reply = await ask(Graph(), documents, scope_mode=search_pb2.ScopeMode.Value(mode))
    assert set(ids(reply)) == {"b1", "b2", "c1", "c2"}
    entry = row(reply, "vector")
    assert (entry.status, list(entry.scope)) == (lane_pb2.LANE_STATUS_OK, ["billing", "crm"])
    assert entry.message == "limited to billing, crm"
    assert all(list(result.scope) == ["billing", "crm"] for result in reply.results)
    assert len(documents.asked) == (1 if mode.endswith("SEQUENTIAL") else 2)


async def test_independent_lanes_are_not_limited() -> None:
    documents = Documents(by_project=STOCK)
    reply = await ask(Graph(), documents, scope_mode=search_pb2.SCOPE_MODE_INDEPENDENT)
    assert set(ids(reply)) == {"b1", "b2", "c1", "c2", "o1", "o2"}
    assert len(documents.asked) == 1
    assert not row(reply, "vector").scope


async def test_only_questions_across_projects_are_limited_unless_the_client_says_so() -> None:
    query = "why does OrderService fail"
    documents = Documents(by_project=STOCK)
    assert not row(await ask(Graph(), documents, query=query), "vector").scope
    sequential = search_pb2.SCOPE_MODE_SEQUENTIAL
    assert row(await ask(Graph(), documents, query=query, scope_mode=sequential), "vector").scope == ["billing", "crm"]


async def test_a_scoped_answer_does_not_wait_for_the_unlimited_search() -> None:
    documents = Documents(by_project=STOCK, hangs_unlimited=True)
    reply = await ask(Graph(), documents)
    assert set(ids(reply)) == {"b1", "b2", "c1", "c2"}
    await asyncio.wait_for(documents.given_up.wait(), 10)


@pytest.mark.parametrize("mode", [search_pb2.SCOPE_MODE_PARALLEL_RESEARCH, search_pb2.SCOPE_MODE_SEQUENTIAL])
async def test_a_scope_that_yields_too_little_is_widened(mode: search_pb2.ScopeMode.ValueType) -> None:
    documents = Documents(by_project={"billing": ["b1"], "other": ["o1", "o2"]})
    reply = await ask(Graph(), documents, scope_mode=mode)
    assert ids(reply) == ["b1", "o1", "o2"]
    entry = row(reply, "vector")
    assert not entry.scope
    assert entry.message == "billing, crm gave 1 results, widened to all projects"
    assert [bool(result.scope) for result in reply.results] == [True, False, False]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph(projects=()), "unscoped: the graph knows no project of customers"),
        (Graph(projects=(), entities=()), "unscoped: the graph knows no entity of the question"),
        (Graph(error=Unavailable("away")), "unscoped: the graph did not answer"),
    ],
)
@pytest.mark.parametrize("mode", [search_pb2.SCOPE_MODE_PARALLEL_RESEARCH, search_pb2.SCOPE_MODE_SEQUENTIAL])
async def test_an_empty_scope_is_said(graph: Graph, message: str, mode: search_pb2.ScopeMode.ValueType) -> None:
    reply = await ask(graph, Documents(by_project=STOCK), scope_mode=mode)
    assert row(reply, "vector").message == message
    assert set(ids(reply)) == {"b1", "b2", "c1", "c2", "o1", "o2"}


async def test_a_scoped_search_that_fails_leaves_the_unlimited_one() -> None:
    documents = Documents(by_project=STOCK, limited_error=Unavailable("away"))
    reply = await ask(Graph(), documents)
    assert len(ids(reply)) == 6
    assert row(reply, "vector").message == "the search limited to billing, crm failed: UNAVAILABLE"


async def test_each_lane_ends_once_in_a_stream() -> None:
    lanes = {"kg": Graph(), "vector": Documents(by_project=STOCK), "keyword": Documents(by_project=STOCK)}
    async with mesh(lanes, table=TABLE) as running, asyncio.timeout(30):
        request = search_pb2.StreamSearchRequest(search=SearchRequest(query=CROSS))
        events = [event async for event in running.search.StreamSearch(request)]
    ended = [event.lane.row.lane for event in events if event.HasField("lane")]
    assert sorted(ended) == ["keyword", "kg", "vector"]
    assert ended[0] == "kg"
