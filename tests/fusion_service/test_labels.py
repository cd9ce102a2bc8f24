"""Lane-style labels."""

from __future__ import annotations

from lanemesh.v1.evidence_pb2 import Document, Evidence, FileDetail, GraphDetail, RankContribution, ScoreComponents

from fusion_service.labels import document_label, evidence_label


def label(document: Document, *lanes: str, **detail: FileDetail | GraphDetail) -> str:
    ranks = [RankContribution(lane=lane, rank=len(lanes) - place) for place, lane in enumerate(lanes)]
    components = ScoreComponents(contributions=ranks)
    return evidence_label(Evidence(document=document, lanes=lanes, components=components, **detail))  # type: ignore[arg-type]


def test_local_names_file_and_lines() -> None:
    file = FileDetail(path="docs/a.md", start_line=10, end_line=20)
    assert label(Document(id="x"), "local", file=file) == "local:docs/a.md#L10-L20"


def test_graph_names_the_entity() -> None:
    assert label(Document(id="x", title="OrderService"), "kg") == "graph:OrderService"
    assert label(Document(id="x"), "kg", graph=GraphDetail(entity_id="service/orders")) == "graph:service/orders"


def test_other_lanes_name_project_and_file_under_the_lane_that_ranked_best() -> None:
    document = Document(id="d1", project="payments")
    assert label(document, "vector", "keyword") == "keyword:payments/d1"
    document.attributes["path"] = "payments/gateway.md"
    assert label(document, "vector") == "vector:payments/gateway.md"


def test_a_label_cannot_break_out_of_its_marker() -> None:
    assert label(Document(id="a][1]\n\x1b[31m"), "web") == "web:a 1 31m"


def test_a_bare_document() -> None:
    assert document_label(Document(id="d1")) == "document:d1"
