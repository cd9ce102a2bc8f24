"""Evidence for the fusion tests, made in one line, and arbitrary requests for the properties."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from lanemesh.v1.evidence_pb2 import Document, Evidence
from lanemesh.v1.fusion_pb2 import FuseRequest, LaneFindings

from fusion_service.passages import Source, document_source

LANES = ("web", "vector", "kg", "keyword", "news", "markets", "local", "custom")

SENTENCES = (
    "PaymentGateway retries a failed charge three times.",
    "The gateway waits 2 s between attempts.",
    "Orders are stored in the orders table.",
    "A refund takes 5 days, says the acquirer.",
    "Cafés in Zürich use the naïve retry 😀 policy.",
    "## Retry policy",
    "- the retry budget is 10 %",
    "Who retries the payment?",
    "| retry | payment |",
    "\x00\x07 payment \x1b[31m retry control characters here.",
)


def evidence(identity: str = "", content: str = "", **fields: Any) -> Evidence:
    score = fields.pop("score", 0.0)
    return Evidence(document=Document(id=identity, content=content, **fields), score=score)


def findings(lane: str, *found: Evidence) -> LaneFindings:
    return LaneFindings(lane=lane, evidence=found)


def request(*lanes: LaneFindings, query: str = "how does the payment gateway retry", **fields: Any) -> FuseRequest:
    return FuseRequest(query=query, lanes=lanes, **fields)


def source(identity: str, content: str, **fields: Any) -> Source:
    return document_source(Document(id=identity, content=content, **fields))


_content = st.lists(st.sampled_from(SENTENCES), max_size=6).map(" \n".join) | st.text(max_size=80)
_number = st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def any_evidence(draw: st.DrawFn) -> Evidence:
    """Evidence as a careless or hostile lane might send it."""
    found = evidence(
        draw(st.sampled_from(["", "a", "b", "c", "d", "e", "é]["])),
        draw(_content),
        title=draw(st.sampled_from(["", "PaymentGateway", "Retry\npolicy"])),
        url=draw(st.sampled_from(["", "https://x.org/1", "http://www.x.org/1/?utm_source=q", "docs/a.md", "://"])),
        score=draw(_number),
    )
    found.confidence = draw(_number)
    found.providers.extend(draw(st.lists(st.sampled_from(["brave", "gdelt"]), max_size=2)))
    if draw(st.booleans()):
        found.document.published_at.seconds = draw(st.integers(-(2**63), 2**63 - 1))
    if draw(st.booleans()):
        found.passage.start, found.passage.end = draw(st.tuples(st.integers(-9, 99), st.integers(-9, 99)))
    if draw(st.booleans()):
        found.file.path = "docs/a.md"
    return found


@st.composite
def any_request(draw: st.DrawFn) -> FuseRequest:
    names = draw(st.lists(st.sampled_from(LANES), unique=True, max_size=5))
    lanes = [findings(name, *draw(st.lists(any_evidence(), max_size=5))) for name in names]
    return request(*lanes, max_results=draw(st.integers(0, 10)), marker_style=draw(st.integers(0, 3)))
