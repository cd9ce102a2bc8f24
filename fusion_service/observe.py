"""What a fusion leaves behind: its figures, and what its span says of it."""

from __future__ import annotations

from lanemesh.v1.fusion_pb2 import FuseResponse

from services.runtime import telemetry
from services.runtime.metrics import Counters, Histograms

_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 1.0)
RECEIVED = Counters("lanemesh_fusion_evidence_received", "Evidence received.").of()
REMOVED = Counters("lanemesh_fusion_evidence_removed", "Evidence removed as duplicate.").of()
DOCUMENTS = Counters("lanemesh_fusion_documents", "Distinct documents, by how many lanes found them.", ["found_by"])
SENTENCES = Counters("lanemesh_fusion_sentences", "Sentences of answers.", ["supported"])
CITATIONS = Counters("lanemesh_fusion_citations", "Citations re-read in their documents.", ["verdict"])
CONFLICTS = Counters("lanemesh_fusion_conflicts", "Disagreements between sources.", ["state"])
SECONDS = Histograms("lanemesh_fusion_seconds", "Time of a fusion.", _BOUNDS).of()
SYNTHESIS_SECONDS = Histograms("lanemesh_synthesis_seconds", "Time of synthesis and citation.", _BOUNDS).of()

_ONE, _SEVERAL = DOCUMENTS.of("one"), DOCUMENTS.of("several")
_SUPPORTED, _UNSUPPORTED = SENTENCES.of("yes"), SENTENCES.of("no")
_HOLD, _BROKEN = CITATIONS.of("holds"), CITATIONS.of("broken")
_RESOLVED, _OPEN = CONFLICTS.of("resolved"), CONFLICTS.of("open")


def observe(response: FuseResponse) -> None:
    """Takes in one fusion."""
    trace = telemetry.current()
    span = trace.span if trace is not None else None
    report = response.report
    _count(response)
    SECONDS.observe(report.elapsed_ms / 1000, span.trace_id if span is not None else "")
    SYNTHESIS_SECONDS.observe(report.synthesis_ms / 1000)
    if span is not None:
        span.set(received=report.received, distinct=report.distinct, merged=report.merged)
        span.set(results=len(response.results), sentences=len(response.sentences), conflicts=report.conflicts_detected)


def _count(response: FuseResponse) -> None:
    report = response.report
    received, distinct = report.received, report.distinct
    RECEIVED.value += received
    REMOVED.value += received - distinct + report.merged
    several = round(report.source_agreement * distinct)
    _SEVERAL.value += several
    _ONE.value += distinct - several
    if conflicts := report.conflicts_detected:
        _RESOLVED.value += report.conflicts_resolved
        _OPEN.value += conflicts - report.conflicts_resolved
    if not response.sentences:
        return
    supported = sum(sentence.supported for sentence in response.sentences)
    _SUPPORTED.value += supported
    _UNSUPPORTED.value += len(response.sentences) - supported
    hold, broken = verify(response)
    _HOLD.value += hold
    _BROKEN.value += broken


def verify(response: FuseResponse) -> tuple[int, int]:
    """How many citations hold, and how many do not: each is read again where it says it stands."""
    documents = {evidence.document.id: evidence.document for evidence in response.results}
    contents: dict[str, str] = {}
    hold = broken = 0
    for sentence in response.sentences:
        for citation in sentence.citations:
            identity = citation.document_id
            content = contents.get(identity)
            if content is None:
                document = documents.get(identity)
                content = contents[identity] = document.content if document is not None else ""
            if content[citation.start : citation.end] == citation.passage:
                hold += 1
            else:
                broken += 1
    return hold, broken
