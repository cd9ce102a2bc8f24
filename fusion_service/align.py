"""Any text against any documents: each of its sentences cited, or marked as unsupported."""

from __future__ import annotations

from math import isnan
from typing import TypeVar

from lanemesh.v1.fusion_pb2 import AlignRequest, AlignResponse, MarkerStyle

from fusion_service.answer import markers
from fusion_service.bibliography import Bibliography, readable
from fusion_service.cite import CITATIONS, Support, write
from fusion_service.passages import document_source, index, statement
from fusion_service.similarity import THRESHOLD
from fusion_service.verify import check_documents
from services.runtime import deadline
from services.runtime.errors import InvalidRequest
from services.text.sentences import CODE, HEADING, split

Work = TypeVar("Work")

TEXT = 100_000
DOCUMENTS = 500


def align(request: AlignRequest) -> AlignResponse:
    """The text with markers behind its sentences; headings and code stand as they are."""
    _check(request)
    response = AlignResponse()
    least = request.min_similarity if request.HasField("min_similarity") else THRESHOLD
    passages = index(map(_in_time, map(document_source, request.documents)))
    support = Support(passages, least, request.max_citations or CITATIONS)
    bibliography = Bibliography()
    text, position, parts = request.text, 0, []
    for start, end, kind in split(text):
        if kind in (HEADING, CODE):
            continue
        written = text[start:end]
        sentence = response.sentences.add(text=readable(written))
        write(support.of(_in_time(statement(written))), bibliography, sentence)
        marked = markers(sentence.citations, request.marker_style)
        parts.append(text[position:end] + (f" {marked}" if marked else ""))
        position = end
    response.text = "".join(parts) + text[position:]
    response.bibliography.extend(bibliography.entries())
    return response


def _in_time(work: Work) -> Work:
    """The next piece of work, or DeadlinePassed: between two pieces a caller who left is noticed."""
    until = deadline.current()
    if until is not None:
        until.require()
    return work


def _check(request: AlignRequest) -> None:
    if not request.text.strip():
        raise InvalidRequest("text", "must not be empty")
    if len(request.text) > TEXT:
        raise InvalidRequest("text", f"must be at most {TEXT} characters")
    check_documents(request.documents, DOCUMENTS)
    if not 0 <= request.max_citations <= CITATIONS:
        raise InvalidRequest("max_citations", f"must be 1..{CITATIONS}, or 0 for the default")
    if isnan(request.min_similarity) or not 0.0 <= request.min_similarity <= 1.0:
        raise InvalidRequest("min_similarity", "must be 0..1")
    if request.marker_style not in MarkerStyle.values():
        raise InvalidRequest("marker_style", "is not a known style")
