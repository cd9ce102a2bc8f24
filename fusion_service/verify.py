"""Citations re-checked against the documents as they are now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from lanemesh.v1.evidence_pb2 import Document, Span
from lanemesh.v1.fusion_pb2 import Citation, Verdict, VerdictStatus, VerifyRequest, VerifyResponse

from services.runtime.errors import InvalidRequest
from services.text.sentences import byte_span

CITATIONS = 1_000
DOCUMENTS = 1_000


def verify(request: VerifyRequest) -> VerifyResponse:
    """One verdict per citation, in request order."""
    if not 1 <= len(request.citations) <= CITATIONS:
        raise InvalidRequest("citations", f"must be 1..{CITATIONS}")
    check_documents(request.documents, DOCUMENTS)
    contents = {document.id: document.content for document in request.documents}
    return VerifyResponse(verdicts=[_verdict(citation, contents) for citation in request.citations])


def check_documents(documents: Sequence[Document], most: int) -> None:
    """Between 1 and `most`, each with an identity of its own."""
    if not 1 <= len(documents) <= most:
        raise InvalidRequest("documents", f"must be 1..{most}")
    seen: set[str] = set()
    for place, document in enumerate(documents):
        if not document.id:
            raise InvalidRequest(f"documents[{place}].id", "must not be empty")
        if document.id in seen:
            raise InvalidRequest(f"documents[{place}].id", f"{document.id!r} occurs twice")
        seen.add(document.id)


def _verdict(citation: Citation, contents: Mapping[str, str]) -> Verdict:
    if not citation.passage:
        return _plain(citation, VerdictStatus.VERDICT_STATUS_INVALID, "The citation has no passage.")
    # A citation kept without its hash is judged by its passage alone.
    if citation.sha256 and citation.sha256.lower() != sha256(citation.passage.encode()).hexdigest():
        return _plain(citation, VerdictStatus.VERDICT_STATUS_INVALID, "The hash is not that of the passage.")
    content = contents.get(citation.document_id)
    if content is None:
        return _plain(citation, VerdictStatus.VERDICT_STATUS_DOCUMENT_MISSING, "The document was not given.")
    start = _nearest(content, citation.passage, citation.start)
    if start < 0:
        message = "The passage is not in the document any more."
        return _plain(citation, VerdictStatus.VERDICT_STATUS_SOURCE_CHANGED, message)
    return _located(citation, _span(content, start, start + len(citation.passage)))


def _located(citation: Citation, span: Span) -> Verdict:
    stated = (citation.start, citation.end)
    stated_bytes = (citation.start_byte, citation.end_byte)
    # Bytes left at zero were not kept by whoever stored the citation.
    if stated == (span.start, span.end) and stated_bytes in ((span.start_byte, span.end_byte), (0, 0)):
        status, message = VerdictStatus.VERDICT_STATUS_HOLDS, "The span still holds the passage."
    else:
        status = VerdictStatus.VERDICT_STATUS_MOVED
        message = f"The passage stands at {span.start}..{span.end} now."
    return Verdict(status=status, document_id=citation.document_id, span=span, message=message)


def _plain(citation: Citation, status: VerdictStatus.ValueType, message: str) -> Verdict:
    return Verdict(status=status, document_id=citation.document_id, message=message)


def _nearest(content: str, passage: str, start: int) -> int:
    """Where the passage stands closest to `start`; -1 when it is nowhere."""
    start = max(start, 0)
    after = content.find(passage, start)
    if after == start:
        return after
    before = content.rfind(passage, 0, start + len(passage) - 1)
    if after < 0 or before < 0:
        return max(after, before)
    return before if start - before <= after - start else after


def _span(content: str, start: int, end: int) -> Span:
    start_byte, end_byte = byte_span(content, start, end)
    return Span(start=start, end=end, start_byte=start_byte, end_byte=end_byte)
