"""One whole fusion."""

from __future__ import annotations

import math
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.fusion_pb2 import FuseRequest, FuseResponse, MarkerStyle

from fusion_service.fuse import SYNTHESIS_DOCUMENTS, config_hash, fuse
from fusion_service.similarity import THRESHOLD
from services.runtime.errors import InvalidRequest
from services.runtime.registry import Table, load_table
from tests.fusion_service.samples import LANES, any_request, evidence, findings, request

TABLE = load_table()
GATEWAY = evidence("gateway", "PaymentGateway retries a failed charge three times. It is blue.", title="PaymentGateway")
ORDERS = evidence("orders", "OrderService hands a failed payment to the gateway.")
OTHER = evidence("other", "Lunch is served at noon.")


def test_the_story_of_one_fusion(table: Table) -> None:
    response = fuse(request(findings("vector", GATEWAY, OTHER), findings("kg", ORDERS, GATEWAY)), table)
    assert [result.document.id for result in response.results] == ["gateway", "orders", "other"]
    assert list(response.results[0].lanes) == ["vector", "kg"]
    assert response.answer == (
        "PaymentGateway retries a failed charge three times. [1] "
        "OrderService hands a failed payment to the gateway. [2]"
    )
    assert [(entry.marker, entry.label) for entry in response.bibliography] == [
        (1, "graph:PaymentGateway"),
        (2, "graph:orders"),
    ]
    assert list(response.missing) == []


def test_the_report_counts(table: Table) -> None:
    lanes = [findings("vector", GATEWAY, OTHER), findings("kg", ORDERS, GATEWAY), findings("web")]
    report = fuse(request(*lanes, max_results=2), table).report
    assert (report.received, report.distinct, report.merged) == (4, 3, 0)
    assert (report.dedup_rate, report.source_agreement, report.citation_coverage) == (0.25, 1 / 3, 1.0)
    assert dict(report.kept) == {"vector": 1, "kg": 2, "web": 0}
    assert (report.elapsed_ms, report.synthesiser) == (0.0, "extractive")
    assert report.config_hash == config_hash(table.fusion)


def test_no_evidence_is_said(table: Table) -> None:
    response = fuse(request(findings("web")), table)
    assert (response.answer, list(response.missing)) == ("", ["Nothing found: no lane returned evidence."])


def test_evidence_that_does_not_answer_is_said(table: Table) -> None:
    response = fuse(request(findings("web", OTHER), query="Kafka partitions"), table)
    assert response.answer == ""
    assert list(response.missing) == [
        "Nothing found that answers the question.",
        'Nothing found about "Kafka".',
        'Nothing found about "partitions".',
    ]
    assert len(response.results) == 1


def test_lane_weights_of_the_query_type_change_the_order(table: Table) -> None:
    weighted = replace(table, fusion=replace(table.fusion, weights={"relationship": {"kg": 3.0}}))
    asked = request(findings("web", OTHER), findings("kg", ORDERS), query_types=["unknown", "relationship"])
    assert fuse(asked, weighted).results[0].document.id == "orders"
    assert fuse(asked, weighted).results[0].components.contributions[0].weight == 3.0
    assert fuse(asked, weighted).report.config_hash != fuse(asked, table).report.config_hash


def test_only_the_best_documents_enter_the_answer(table: Table) -> None:
    texts = [f"PaymentGateway may retry case{place} with plan{place} and rule{place}." for place in range(40)]
    lane = findings("web", *(evidence(f"{place:02}", text) for place, text in enumerate(texts)))
    response = fuse(request(lane), table)
    assert len(response.results) == table.limits.default_results
    assert {entry.id for entry in response.bibliography} <= {f"{place:02}" for place in range(SYNTHESIS_DOCUMENTS)}
    few = replace(table, limits=replace(table.limits, results_into_synthesis=2))
    assert {entry.id for entry in fuse(request(lane), few).bibliography} == {"00", "01"}


def test_markers_may_be_labels_or_absent(table: Table) -> None:
    lane = findings("keyword", GATEWAY)
    assert "[keyword:gateway]" in fuse(request(lane, marker_style=MarkerStyle.MARKER_STYLE_LANE), table).answer
    assert "[" not in fuse(request(lane, marker_style=MarkerStyle.MARKER_STYLE_NONE), table).answer


def test_a_huge_document_is_no_obstacle(table: Table) -> None:
    huge = [evidence("words", "payment retry " * 70_000), evidence("letters", "x" * 1_000_000)]
    assert len(fuse(request(findings("web", *huge)), table).results) == 2


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (request(query=""), "query"),
        (request(query=" \n"), "query"),
        (request(query="x" * 10_001), "query"),
        (request(max_results=101), "max_results"),
        (request(max_results=-1), "max_results"),
        (request(max_answer_tokens=8_001), "max_answer_tokens"),
        (request(synthesis_budget_ms=math.nan), "synthesis_budget_ms"),
        (request(mode=99), "mode"),
        (request(marker_style=99), "marker_style"),
        (request(findings("web"), findings("web")), "lanes[1].lane"),
        (request(findings("")), "lanes[0].lane"),
    ],
)
def test_bad_input_names_the_field(bad: FuseRequest, field: str, table: Table) -> None:
    with pytest.raises(InvalidRequest) as caught:
        fuse(bad, table)
    assert caught.value.field == field


@given(any_request(), st.randoms(use_true_random=False))
def test_the_order_of_lanes_changes_nothing(asked: FuseRequest, random: Any) -> None:
    lanes = list(asked.lanes)
    random.shuffle(lanes)
    shuffled = FuseRequest()
    shuffled.CopyFrom(asked)
    shuffled.ClearField("lanes")
    shuffled.lanes.extend(lanes)
    assert _bytes(fuse(asked, TABLE)) == _bytes(fuse(shuffled, TABLE))


@given(any_request())
def test_every_citation_can_be_checked(asked: FuseRequest) -> None:
    response = fuse(asked, TABLE)
    contents = {result.document.id: result.document.content for result in response.results}
    markers = {entry.marker: entry.id for entry in response.bibliography}
    assert list(markers) == list(range(1, len(markers) + 1))
    cited = []
    for sentence in response.sentences:
        assert sentence.supported
        assert 1 <= len(sentence.citations) <= 3
        for citation in sentence.citations:
            content = contents[citation.document_id]
            assert content[citation.start : citation.end] == citation.passage
            assert content.encode()[citation.start_byte : citation.end_byte] == citation.passage.encode()
            assert citation.sha256 == sha256(citation.passage.encode()).hexdigest()
            assert citation.similarity >= THRESHOLD
            assert markers[citation.marker] == citation.document_id
            cited.append(citation.marker)
    disputed = [claim.citation for disagreement in response.disagreements for claim in disagreement.claims]
    assert all(contents[one.document_id][one.start : one.end] == one.passage for one in disputed)
    assert list(dict.fromkeys([*cited, *(one.marker for one in disputed)])) == list(markers)


@given(any_request())
def test_a_client_can_recompute_the_order(asked: FuseRequest) -> None:
    results = fuse(asked, TABLE).results
    scores = []
    for result in results:
        rrf = 0.0
        for part in result.components.contributions:
            assert part.value == part.weight / (part.k + part.rank)
            rrf += part.value
        effects = sum(factor.effect for factor in result.components.factors)
        scores.append(rrf * (1 + effects))
        assert scores[-1] == result.score == result.components.score
        assert list(result.lanes) == [part.lane for part in result.components.contributions]
    best_ranks = [min(part.rank for part in result.components.contributions) for result in results]
    keys = [(-s, b, r.document.id) for s, b, r in zip(scores, best_ranks, results, strict=True)]
    assert keys == sorted(keys)
    assert len({result.document.id for result in results}) == len(results)


@given(any_request(), st.integers(0, 20), st.integers(0, 20), st.sampled_from([*LANES, "another"]))
def test_agreement_always_raises_the_score(asked: FuseRequest, which: int, place: int, lane: str) -> None:
    asked.max_results = 100
    asked.now.seconds = 1_800_000_000
    before = fuse(asked, TABLE)
    if not before.results:
        return
    chosen = before.results[which % len(before.results)]
    if lane in chosen.lanes or chosen.document.id.startswith("sha256:"):
        return
    agreed = FuseRequest()
    agreed.CopyFrom(asked)
    lanes = {findings.lane: findings for findings in agreed.lanes}
    target = lanes[lane] if lane in lanes else agreed.lanes.add(lane=lane)
    found = list(target.evidence)
    found.insert(place, Evidence(document=chosen.document, entities=chosen.entities))
    target.ClearField("evidence")
    target.evidence.extend(found)
    after = {result.document.id: result.components for result in fuse(agreed, TABLE).results}
    assert after[chosen.document.id].rrf > chosen.components.rrf


@given(st.integers(0, 9), st.sampled_from(["vector", "kg", "custom"]))
def test_agreement_of_lanes_raises_a_document(place: int, lane: str) -> None:
    found = [evidence(str(number), f"text {number}") for number in range(10)]
    agreed = fuse(request(findings("web", *found), findings(lane, found[place])), TABLE)
    assert agreed.results[0].document.id == str(place)


def _bytes(response: FuseResponse) -> bytes:
    return response.SerializeToString(deterministic=True)
