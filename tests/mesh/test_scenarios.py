"""The three scenarios of the demo company, over real processes: right types, lanes, evidence and scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanemesh.v1.lane_pb2 import LANE_STATUS_OK, LANE_STATUS_SKIPPED
from lanemesh.v1.search_pb2 import DEGRADATION_L0, SearchRequest, SearchResponse

if TYPE_CHECKING:
    from tests.mesh.conftest import Up

CUSTOMER_PROJECTS = {"auth", "billing", "crm"}


def ran(reply: SearchResponse) -> set[str]:
    return {row.lane for row in reply.ledger if row.status != LANE_STATUS_SKIPPED} - {"preflight"}


def cited(reply: SearchResponse) -> bool:
    contents = {result.document.id: result.document.content for result in reply.results}
    citations = [citation for sentence in reply.sentences for citation in sentence.citations]
    return bool(citations) and all(
        contents[citation.document_id][citation.start : citation.end] == citation.passage for citation in citations
    )


async def test_the_scenarios_have_true_answers(up: Up) -> None:
    await across_projects(up)
    await along_a_path(up)
    await by_likeness(up)


async def across_projects(up: Up) -> None:
    """Scenario A: the graph limits the document search to the projects that have customer tables."""
    reply = await up.search.Search(SearchRequest(query="What patterns do other teams use for customer tables?"))
    assert list(reply.plan.query_types) == ["cross_project", "pattern"]
    assert ran(reply) == {"kg", "vector", "keyword"}
    rows = {row.lane: row for row in reply.ledger}
    assert set(rows["vector"].scope) == set(rows["keyword"].scope) == CUSTOMER_PROJECTS
    assert {result.document.project for result in reply.results if "kg" not in result.lanes} <= CUSTOMER_PROJECTS
    documents = {result.document.id for result in reply.results[:10]}
    assert {f"{project}/customer-table.md" for project in CUSTOMER_PROJECTS} <= documents
    assert cited(reply)
    assert reply.degradation == DEGRADATION_L0


async def along_a_path(up: Up) -> None:
    """Scenario B: the graph alone, and the path with its intermediary."""
    reply = await up.search.Search(SearchRequest(query="How does OrderService connect to PaymentGateway?"))
    assert list(reply.plan.query_types) == ["relationship"]
    assert ran(reply) == {"kg"}
    steps = [(step.head, step.tail) for step in reply.results[0].graph.path]
    assert steps == [("OrderService", "PaymentAdapter"), ("PaymentAdapter", "PaymentGateway")]
    assert "PaymentAdapter" in reply.answer
    assert cited(reply)


async def by_likeness(up: Up) -> None:
    """Scenario C: documents by meaning and words, neither the graph nor the project's files."""
    reply = await up.search.Search(SearchRequest(query="Find code similar to this error handling pattern"))
    assert reply.plan.query_types[0] == "similarity"
    assert ran(reply) == {"vector", "keyword"}
    assert {row.status for row in reply.ledger if row.lane in ("vector", "keyword")} == {LANE_STATUS_OK}
    # The pattern's two copies, one in each of two projects, are one result that names the other.
    copies = {"billing/error_handling.py", "orders/error_handling.py"}
    (copy,) = [result for result in reply.results[:10] if result.document.id in copies]
    assert set(copy.corroborated_by) == copies - {copy.document.id}
    assert cited(reply)
