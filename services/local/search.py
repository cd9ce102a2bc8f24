"""One search over a view of the files and the request's recent context, and the evidence made from it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lanemesh.v1.evidence_pb2 import Document, Evidence, FileDetail
from lanemesh.v1.lane_pb2 import ContextItem, Filters, RetrieveRequest

from services.local.kinds import kind_of
from services.local.library import Shelved
from services.local.passage import best_passage, span
from services.local.score import Fields, Hit, Postings, Query, post, rank

FILE_SOURCE = "docs"
CONTEXT_SOURCE = "context"
MAX_TITLE = 1_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search found, and what it looked at."""

    evidence: list[Evidence]
    total: int
    files: int
    context: int
    context_unread: int
    words: list[str]


def outside(filters: Filters, project: str) -> str:
    """Why nothing here can pass the filters; empty when something can."""
    if filters.projects and project not in filters.projects:
        return f"The project here is {project}, which is not among the projects asked for."
    if filters.sources and not {FILE_SOURCE, CONTEXT_SOURCE} & set(filters.sources):
        return f"Files here are of source {FILE_SOURCE}, which is not among the sources asked for."
    if filters.tags:
        return "Files here carry no tags, and tags were asked for."
    return ""


def search(request: RetrieveRequest, files: Iterable[Shelved], project: str, expired: Callable[[], bool]) -> Outcome:
    """Ranks every section and context item that passes the filters; `expired` cuts the reading of context short."""
    chosen = _passing(files, request.filters)
    items = _context_items(request)
    read = _read_context(items, expired)
    query = Query.of(request.query)
    ranking = rank(query, [*(file.postings for file in chosen), *read], request.max_results)
    evidence: list[Evidence] = []
    for hit in ranking.hits:
        if hit.file < len(chosen):
            found = _from_file(chosen[hit.file], hit.section)
        else:
            number = hit.file - len(chosen)
            found = _from_context(number + 1, items[number])
        evidence.append(_finish(found, hit, project, request.entities, ranking.weights))
    words = list(dict.fromkeys(query.words.values()))
    return Outcome(evidence, ranking.total, len(chosen), len(read), len(items) - len(read), words)


def _wanted(source: str, filters: Filters) -> bool:
    return not filters.sources or source in filters.sources


def _passing(files: Iterable[Shelved], filters: Filters) -> list[Shelved]:
    if not _wanted(FILE_SOURCE, filters):
        return []
    after = filters.published_after.ToNanoseconds() if filters.HasField("published_after") else -math.inf
    before = filters.published_before.ToNanoseconds() if filters.HasField("published_before") else math.inf
    return [file for file in files if not file.problem and after <= file.stamp.modified_ns < before]


def _context_items(request: RetrieveRequest) -> Sequence[ContextItem]:
    """Context has no date, so it cannot pass a filter by date."""
    filters = request.filters
    dated = filters.HasField("published_after") or filters.HasField("published_before")
    return [] if dated or not _wanted(CONTEXT_SOURCE, filters) else request.context


def _read_context(items: Sequence[ContextItem], expired: Callable[[], bool]) -> list[Postings]:
    read: list[Postings] = []
    for item in items:
        if expired():
            break
        read.append(post([Fields(item.text, item.title)]))
    return read


def _from_file(file: Shelved, number: int) -> Evidence:
    section = file.sections[number]
    content = file.content(number)
    lines = f"L{section.start_line}-L{section.end_line}"
    title = section.path or file.path.rpartition("/")[2]
    document = Document(id=f"local:{file.path}#{lines}", title=title[:MAX_TITLE], content=content, url=file.path)
    document.source = FILE_SOURCE
    document.published_at.FromNanoseconds(file.stamp.modified_ns)
    detail = FileDetail(path=file.path, section=section.path, start_line=section.start_line, end_line=section.end_line)
    heading = section.headings[-1] if section.headings else ""
    return Evidence(document=document, kind=kind_of(file.path, heading, content), file=detail)


def _from_context(number: int, item: ContextItem) -> Evidence:
    document = Document(id=f"context:{number}:{item.title}", title=item.title, content=item.text, source=CONTEXT_SOURCE)
    return Evidence(document=document, kind="context")


def _finish(evidence: Evidence, hit: Hit, project: str, entities: Iterable[str], weights: dict[str, float]) -> Evidence:
    content = evidence.document.content
    evidence.document.project = project
    evidence.score, evidence.confidence = hit.score, hit.confidence
    if stretch := best_passage(content, weights):
        evidence.passage.CopyFrom(span(content, *stretch))
    evidence.entities.extend(name for name in entities if _mentions(content, name))
    return evidence


def _mentions(content: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", content, re.IGNORECASE) is not None
