"""Disagreements between sources, end to end through one fusion."""

from __future__ import annotations

from pathlib import Path

import pytest
from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.fusion_pb2 import Disagreement, DisagreementType, FuseResponse, ResolutionStrategy, Severity

from fusion_service.fuse import fuse
from services.runtime.registry import Table
from tests.fusion_service.samples import evidence, findings, request

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUERY = "How long does a web session last?"
FACTUAL, TEMPORAL, SCOPE = (
    DisagreementType.DISAGREEMENT_TYPE_FACTUAL,
    DisagreementType.DISAGREEMENT_TYPE_TEMPORAL,
    DisagreementType.DISAGREEMENT_TYPE_SCOPE,
)
LATEST, SUREST, BOTH, ASK = (
    ResolutionStrategy.RESOLUTION_STRATEGY_LATEST_WINS,
    ResolutionStrategy.RESOLUTION_STRATEGY_HIGHEST_CONFIDENCE,
    ResolutionStrategy.RESOLUTION_STRATEGY_INCLUDE_BOTH,
    ResolutionStrategy.RESOLUTION_STRATEGY_ASK_USER,
)


def page(path: str) -> Evidence:
    head, _, body = (CORPUS / path).read_text(encoding="utf-8").partition("\n---\n")
    found = evidence(path, body)
    date = next(line.split()[1] for line in head.splitlines() if line.startswith("published_at:"))
    found.document.published_at.FromJsonString(f"{date}T00:00:00Z")
    return found


def session(identity: str, minutes: int, published: int = 0) -> Evidence:
    found = evidence(identity, f"A web session expires after {minutes} minutes of inactivity.")
    found.confidence = 0.8
    if published:
        found.document.published_at.seconds = published
    return found


def disputed(table: Table, *lanes: tuple[str, Evidence], asked: ResolutionStrategy.ValueType = 0) -> FuseResponse:
    return fuse(request(*(findings(lane, one) for lane, one in lanes), query=QUERY, resolution=asked), table)


@pytest.mark.parametrize(
    ("query", "one", "other", "kind", "values"),
    [
        (QUERY, "auth/session-policy", "mobile/session-handling", FACTUAL, {"30 minutes", "45 minutes"}),
        ("How often is a failed charge retried?", "payments/payment-adapter", "payments/retry-policy-2026", FACTUAL,
         {"3 times", "5 times"}),
        ("How long is a reservation held?", "orders/checkout-flow", "inventory/reservation-service", FACTUAL,
         {"20 minutes", "15 minutes"}),
        ("When did the ledger migration end?", "payments/ledger-migration", "analytics/metrics-warehouse", TEMPORAL,
         {"2026-03-14", "2026-04-02"}),
        ("Does PaymentGateway store card numbers?", "payments/gateway-overview-2024", "payments/payment-gateway",
         FACTUAL, {""}),
        ("Which orders get a dispatch email?", "shipping/dispatch-notices", "notifications/order-emails", SCOPE,
         {"all", "some"}),
    ],
)  # fmt: skip
def test_the_contradictions_of_the_demo_corpus(
    table: Table, query: str, one: str, other: str, kind: DisagreementType.ValueType, values: set[str]
) -> None:
    pages = [page(f"{one}.md"), page(f"{other}.md")]
    (found,) = fuse(request(findings("keyword", *pages), query=query), table).disagreements
    assert (found.type, {side.value for side in found.claims}) == (kind, values)
    for side, source in zip(found.claims, sorted(pages, key=lambda one: _place(found, one)), strict=True):
        cited = side.citation
        assert source.document.content[cited.start : cited.end] == cited.passage
        assert side.published_at == source.document.published_at


def _place(found: Disagreement, source: Evidence) -> int:
    return [side.citation.document_id for side in found.claims].index(source.document.id)


def test_the_later_source_stands_and_the_other_is_marked(table: Table) -> None:
    response = disputed(table, ("vector", session("old", 30, 1_000)), ("web", session("new", 45, 2_000)))
    (found,) = response.disagreements
    assert (found.resolution, found.preferred_document_id) == (LATEST, "new")
    results = {result.document.id: result for result in response.results}
    assert (results["old"].superseded_by, results["old"].confidence) == ("new", 0.4)
    assert (results["new"].superseded_by, results["new"].confidence) == ("", 0.8)
    assert found.severity == Severity.SEVERITY_HIGH
    assert found.topic == "web session expires inactivity"
    assert (response.report.conflicts_detected, response.report.conflicts_resolved) == (1, 1)


def test_the_graph_stands_over_search_over_local(table: Table) -> None:
    sides = [("local", session("file", 30)), ("vector", session("found", 45))]
    assert disputed(table, *sides, asked=SUREST).disagreements[0].preferred_document_id == "found"
    sides = [("kg", session("entity", 30)), ("vector", session("found", 45))]
    assert disputed(table, *sides, asked=SUREST).disagreements[0].preferred_document_id == "entity"


@pytest.mark.parametrize(("asked", "applied"), [(LATEST, BOTH), (SUREST, BOTH), (BOTH, BOTH), (ASK, ASK), (0, BOTH)])
def test_what_decides_nothing_leaves_both(
    table: Table, asked: ResolutionStrategy.ValueType, applied: ResolutionStrategy.ValueType
) -> None:
    response = disputed(table, ("web", session("a", 30)), ("vector", session("b", 45)), asked=asked)
    (found,) = response.disagreements
    assert (found.resolution, found.preferred_document_id) == (applied, "")
    assert not any(result.superseded_by for result in response.results)
    assert response.report.conflicts_resolved == (applied != ASK)


def test_one_source_does_not_disagree_with_itself(table: Table) -> None:
    both = evidence("a", "A web session expires after 30 minutes. A web session expires after 45 minutes.")
    assert not disputed(table, ("web", both)).disagreements


def test_sources_that_agree_do_not_disagree(table: Table) -> None:
    assert not disputed(table, ("web", session("a", 30)), ("vector", session("b", 30))).disagreements
