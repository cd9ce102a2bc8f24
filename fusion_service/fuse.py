"""One fusion, top to bottom: identity, RRF, near-duplicates, rank, cut, synthesise, cite, disagreements, report."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256
from math import isfinite

from lanemesh.v1.fusion_pb2 import (
    FuseRequest,
    FuseResponse,
    FusionReport,
    LaneFindings,
    MarkerStyle,
    ResolutionStrategy,
)
from lanemesh.v1.lane_pb2 import Mode

from fusion_service import cite, disagree, rank
from fusion_service.adopt import adopt
from fusion_service.answer import answer_text
from fusion_service.bibliography import Bibliography, readable
from fusion_service.compose import NO_DRAFT, UNSUPPORTED, Composer, Draft
from fusion_service.coverage import Coverage
from fusion_service.dedupe import merge
from fusion_service.factors import Policy
from fusion_service.guards import weigh
from fusion_service.identity import Found, distinct
from fusion_service.passages import Source, evidence_source, index
from fusion_service.question import NO_ANSWER, NO_EVIDENCE, Question, ask
from fusion_service.resolve import resolve
from fusion_service.synthesise import short_list, synthesise
from services.runtime import spans, telemetry
from services.runtime.deadline import Clock
from services.runtime.errors import InvalidRequest
from services.runtime.registry import FusionRow, Table

SYNTHESISER = "extractive"
# Documents whose sentences may enter the answer; further down the order sentences are rarely chosen, only paid for.
SYNTHESIS_DOCUMENTS = 6
DEFAULT_ANSWER_TOKENS, MAX_ANSWER_TOKENS = 2_000, 8_000
_MODES, _STYLES = frozenset(Mode.values()), frozenset(MarkerStyle.values())
_STRATEGIES = frozenset(ResolutionStrategy.values())


def fuse(request: FuseRequest, table: Table, clock: Clock = time.time) -> FuseResponse:
    """The ranked results and the answer. The order in which lanes stand in the request changes nothing."""
    response, question = arranged(request, table, clock)
    answer(request, question, table, response)
    return response


def arranged(request: FuseRequest, table: Table, clock: Clock = time.time) -> tuple[FuseResponse, Question]:
    """The first half, up to the ranked results; the answer is the second."""
    check(request, table)
    response, question = FuseResponse(), ask(request.query, request.entities)
    arrange(request, question, table, clock, response)
    return response, question


async def draft(request: FuseRequest, response: FuseResponse, table: Table, composer: Composer) -> Draft:
    """What a model makes of the ranked results, between the halves."""
    if not response.results:
        return NO_DRAFT
    sources = _admitted(response, table.limits.results_into_synthesis, len(response.results))
    most = request.synthesis_budget_ms / 1000 or float("inf")
    return await composer.draft(request.query, sources, request.max_answer_tokens or DEFAULT_ANSWER_TOKENS, most)


def arrange(request: FuseRequest, question: Question, table: Table, clock: Clock, response: FuseResponse) -> None:
    """Fills in the results and the figures of their ranking."""
    row = table.fusion
    lanes = _in_table_order(request.lanes, table)
    with telemetry.span(spans.IDENTITY):
        found = {document.id: document for document in distinct(lanes)}
    with telemetry.span(spans.RANK):
        coverage = Coverage(question)
        weights = weigh(lanes, found.values(), coverage, request.query_types, row)
        relevant = rank.relevance(found.values(), weights, row.rrf_k)
        kept = merge([found[identity] for identity in relevant])
        policy = Policy(row, float(request.now.seconds) if request.HasField("now") else clock(), coverage)
        for place in rank.rank(kept, relevant, policy, request.max_results or table.limits.default_results):
            rank.write(place, weights, row.rrf_k, policy, response.results.add())
    _report(lanes, found.values(), len(kept), response)
    response.report.config_hash = config_hash(row)


def answer(
    request: FuseRequest, question: Question, table: Table, response: FuseResponse, written: Draft = NO_DRAFT
) -> None:
    """Fills in answer, sentences, bibliography and what is missing, from the results already there."""
    response.report.synthesiser = SYNTHESISER
    if not response.results:
        response.missing.append(NO_EVIDENCE)
        return
    with telemetry.span(spans.SYNTHESISE):
        passages = index(_admitted(response, table.limits.results_into_synthesis), question.needles())
        candidates = short_list(question, passages)
        chosen = synthesise(candidates, request.max_answer_tokens or DEFAULT_ANSWER_TOKENS)
    bibliography = Bibliography()
    with telemetry.span(spans.CITE):
        if not _adopted(written, request, table, bibliography, response):
            for passage in chosen:
                sentence = response.sentences.add(text=readable(passage.text), group=passage.source.group)
                cite.write(cite.quotation(passage, passages), bibliography, sentence)
    with telemetry.span(spans.DISAGREE):
        for conflict in disagree.find([candidate.passage for candidate in candidates]):
            disagree.write(conflict, chosen, bibliography, response.disagreements.add())
        _settle(request.resolution, response)
    response.bibliography.extend(bibliography.entries())
    response.answer = answer_text(response.sentences, request.marker_style)
    if not response.sentences:
        response.missing.append(NO_ANSWER)
    response.missing.extend(question.missing(passages))
    supported = sum(sentence.supported for sentence in response.sentences)
    response.report.citation_coverage = supported / len(response.sentences) if response.sentences else 0.0


def _adopted(
    written: Draft, request: FuseRequest, table: Table, bibliography: Bibliography, response: FuseResponse
) -> bool:
    """Whether the answer is a model's; the reason stands in the report where it is not, or not whole."""
    response.report.synthesis_reason = written.reason
    if not written.text:
        return False
    sources = _admitted(response, table.limits.results_into_synthesis, len(response.results))
    only_supported = request.citations_required
    if not adopt(written.text, sources, only_supported=only_supported, bibliography=bibliography, response=response):
        response.report.synthesis_reason = UNSUPPORTED
        return False
    response.report.synthesiser = written.author
    return True


def _settle(asked: ResolutionStrategy.ValueType, response: FuseResponse) -> None:
    """Resolves what sources disagree on and counts it."""
    if not response.disagreements:
        return
    results = {evidence.document.id: evidence for evidence in response.results}
    settled = [resolve(one, asked, results) for one in response.disagreements]
    response.report.conflicts_detected = len(settled)
    response.report.conflicts_resolved = sum(settled)


def check(request: FuseRequest, table: Table) -> None:
    """Refuses what cannot be fused, naming the field."""
    limits = table.limits
    if not request.query.strip():
        raise InvalidRequest("query", "must not be empty")
    if len(request.query) > limits.query_characters:
        raise InvalidRequest("query", f"must be at most {limits.query_characters} characters")
    if not 0 <= request.max_results <= limits.max_results:
        raise InvalidRequest("max_results", f"must be 1..{limits.max_results}, or 0 for the default")
    if not 0 <= request.max_answer_tokens <= MAX_ANSWER_TOKENS:
        raise InvalidRequest("max_answer_tokens", f"must be 1..{MAX_ANSWER_TOKENS}, or 0 for the default")
    if not isfinite(request.synthesis_budget_ms) or request.synthesis_budget_ms < 0:
        raise InvalidRequest("synthesis_budget_ms", "must be 0 or more")
    if request.mode not in _MODES:
        raise InvalidRequest("mode", "is not a known mode")
    if request.marker_style not in _STYLES:
        raise InvalidRequest("marker_style", "is not a known style")
    if request.resolution not in _STRATEGIES:
        raise InvalidRequest("resolution", "is not a known strategy")
    _check_lanes(request.lanes)


def _check_lanes(lanes: Sequence[LaneFindings]) -> None:
    seen: set[str] = set()
    for place, findings in enumerate(lanes):
        if not findings.lane:
            raise InvalidRequest(f"lanes[{place}].lane", "must not be empty")
        if findings.lane in seen:
            raise InvalidRequest(f"lanes[{place}].lane", f"{findings.lane!r} occurs twice")
        seen.add(findings.lane)


@lru_cache(maxsize=8)
def config_hash(fusion: FusionRow) -> str:
    """SHA-256 of the ranking configuration as canonical JSON."""
    ranking = asdict(fusion) | {"rrf_k": float(fusion.rrf_k)}
    del ranking["port"]
    return sha256(json.dumps(ranking, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _in_table_order(lanes: Sequence[LaneFindings], table: Table) -> list[LaneFindings]:
    """Lanes as the table lists them, unknown ones after it by name."""
    places = {name: place for place, name in enumerate(table.lanes)}
    return sorted(lanes, key=lambda findings: (places.get(findings.lane, len(places)), findings.lane))


def _admitted(response: FuseResponse, per_lane: int, most: int = SYNTHESIS_DOCUMENTS) -> list[Source]:
    """The best results as sources, at most `per_lane` for any one lane and `most` in all."""
    sources: list[Source] = []
    taken: dict[str, int] = {}
    for evidence in response.results:
        if len(sources) == most:
            break
        if all(taken.get(lane, 0) < per_lane for lane in evidence.lanes):
            taken.update({lane: taken.get(lane, 0) + 1 for lane in evidence.lanes})
            sources.append(evidence_source(evidence))
    return sources


def _report(lanes: Sequence[LaneFindings], found: Collection[Found], kept: int, response: FuseResponse) -> None:
    report: FusionReport = response.report
    report.received = sum(len(findings.evidence) for findings in lanes)
    report.distinct = len(found)
    report.merged = len(found) - kept
    report.dedup_rate = 1.0 - kept / report.received if report.received else 0.0
    agreed = sum(len(document.ranks) > 1 for document in found)
    report.source_agreement = agreed / len(found) if found else 0.0
    counts = {findings.lane: 0 for findings in lanes}
    for evidence in response.results:
        for lane in evidence.lanes:
            counts[lane] += 1
    for lane, count in counts.items():
        report.kept[lane] = count
