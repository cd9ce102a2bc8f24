"""What fusions export: duplicates, agreement, support, citations that hold, conflicts."""

from __future__ import annotations

from lanemesh.v1.evidence_pb2 import Document, Evidence
from lanemesh.v1.fusion_pb2 import Citation, FuseResponse, FusionReport, Sentence
from prometheus_client import REGISTRY

from fusion_service.observe import observe, verify


def figure(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"lanemesh_{name}", labels) or 0.0


def response() -> FuseResponse:
    content = "Charges are retried three times. Then they fail."
    holds = Citation(document_id="d", passage="Charges are retried three times.", start=0, end=32)
    moved = Citation(document_id="d", passage="Then they fail.", start=0, end=15)
    gone = Citation(document_id="away", passage="Then", start=0, end=4)
    return FuseResponse(
        results=[Evidence(document=Document(id="d", content=content))],
        sentences=[
            Sentence(text="a", supported=True, citations=[holds, moved]),
            Sentence(text="b", supported=True, citations=[gone]),
            Sentence(text="c"),
        ],
        report=FusionReport(
            received=10,
            distinct=8,
            merged=1,
            source_agreement=0.25,
            conflicts_detected=3,
            conflicts_resolved=2,
            elapsed_ms=4.0,
            synthesis_ms=3.0,
        ),
    )


def test_a_citation_holds_when_its_span_still_holds_the_passage() -> None:
    assert verify(response()) == (1, 2)


def test_a_fusion_is_counted() -> None:
    wanted = {
        ("fusion_evidence_received_total", ""): 10,
        ("fusion_evidence_removed_total", ""): 3,
        ("fusion_documents_total", "found_by=several"): 2,
        ("fusion_documents_total", "found_by=one"): 6,
        ("fusion_sentences_total", "supported=yes"): 2,
        ("fusion_sentences_total", "supported=no"): 1,
        ("fusion_citations_total", "verdict=holds"): 1,
        ("fusion_citations_total", "verdict=broken"): 2,
        ("fusion_conflicts_total", "state=resolved"): 2,
        ("fusion_conflicts_total", "state=open"): 1,
        ("fusion_seconds_count", ""): 1,
        ("synthesis_seconds_count", ""): 1,
    }

    def read() -> dict[tuple[str, str], float]:
        return {(name, label): figure(name, **dict([label.split("=")] if label else [])) for name, label in wanted}

    before = read()
    observe(response())
    assert {key: value - before[key] for key, value in read().items()} == wanted


def test_a_fusion_that_found_nothing_is_counted_as_well() -> None:
    before = figure("fusion_seconds_count"), figure("fusion_sentences_total", supported="no")
    observe(FuseResponse())
    assert (figure("fusion_seconds_count"), figure("fusion_sentences_total", supported="no")) == (
        before[0] + 1,
        before[1],
    )
