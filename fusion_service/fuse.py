"""One fusion, top to bottom: identity, RRF, rank, cut, synthesise, cite, report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import isfinite

from lanemesh.v1.fusion_pb2 import FuseRequest, FuseResponse, FusionReport, LaneFindings, MarkerStyle
from lanemesh.v1.lane_pb2 import Mode

from fusion_service import cite, rank
from fusion_service.answer import answer_text
from fusion_service.bibliography import Bibliography, readable
from fusion_service.identity import Found, distinct
from fusion_service.passages import Source, evidence_source, index
from fusion_service.question import NO_ANSWER, NO_EVIDENCE, ask
from fusion_service.synthesise import synthesise
from services.runtime.errors import InvalidRequest
from services.runtime.registry import FusionRow, Table

SYNTHESISER = "extractive"
# Documents whose sentences may enter the answer; further down the order sentences are rarely chosen, only paid for.
SYNTHESIS_DOCUMENTS = 6
DEFAULT_ANSWER_TOKENS, MAX_ANSWER_TOKENS = 2_000, 8_000
_MODES, _STYLES = frozenset(Mode.values()), frozenset(MarkerStyle.values())


def fuse(request: FuseRequest, table: Table) -> FuseResponse:
    """The ranked results and the answer. The order in which lanes stand in the request changes nothing."""
    check(request, table)
    response = FuseResponse()
    arrange(request, table, response)
    answer(request, table, response)
    return response


def arrange(request: FuseRequest, table: Table, response: FuseResponse) -> None:
    """Fills in the results and the figures of their ranking."""
    lanes = _in_table_order(request.lanes, table)
    weights = lane_weights(request.query_types, table.fusion)
    found = distinct(lanes)
    ranked = rank.rank(found, weights, table.fusion.rrf_k)
    for place in ranked[: request.max_results or table.limits.default_results]:
        rank.write(place, weights, table.fusion.rrf_k, response.results.add())
    _report(lanes, found, response)
    response.report.config_hash = config_hash(table.fusion)


def answer(request: FuseRequest, table: Table, response: FuseResponse) -> None:
    """Fills in answer, sentences, bibliography and what is missing, from the results already there."""
    response.report.synthesiser = SYNTHESISER
    if not response.results:
        response.missing.append(NO_EVIDENCE)
        return
    question = ask(request.query, request.entities)
    passages = index(_admitted(response, table.limits.results_into_synthesis), question.needles())
    bibliography = Bibliography()
    for passage in synthesise(question, passages, request.max_answer_tokens or DEFAULT_ANSWER_TOKENS):
        sentence = response.sentences.add(text=readable(passage.text), group=passage.source.group)
        cite.write(cite.quotation(passage, passages), bibliography, sentence)
    response.bibliography.extend(bibliography.entries())
    response.answer = answer_text(response.sentences, request.marker_style)
    if not response.sentences:
        response.missing.append(NO_ANSWER)
    response.missing.extend(question.missing(passages))
    supported = sum(sentence.supported for sentence in response.sentences)
    response.report.citation_coverage = supported / len(response.sentences) if response.sentences else 0.0


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
    _check_lanes(request.lanes)


def _check_lanes(lanes: Sequence[LaneFindings]) -> None:
    seen: set[str] = set()
    for place, findings in enumerate(lanes):
        if not findings.lane:
            raise InvalidRequest(f"lanes[{place}].lane", "must not be empty")
        if findings.lane in seen:
            raise InvalidRequest(f"lanes[{place}].lane", f"{findings.lane!r} occurs twice")
        seen.add(findings.lane)


def lane_weights(query_types: Sequence[str], fusion: FusionRow) -> Mapping[str, float]:
    """The lane weights of the first query type that has any; an unlisted lane weighs 1."""
    return next((fusion.weights[name] for name in query_types if name in fusion.weights), {})


def config_hash(fusion: FusionRow) -> str:
    """SHA-256 of the ranking configuration as canonical JSON."""
    ranking = {"rrf_k": float(fusion.rrf_k), "weights": {name: dict(row) for name, row in fusion.weights.items()}}
    return sha256(json.dumps(ranking, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _in_table_order(lanes: Sequence[LaneFindings], table: Table) -> list[LaneFindings]:
    """Lanes as the table lists them, unknown ones after it by name."""
    places = {name: place for place, name in enumerate(table.lanes)}
    return sorted(lanes, key=lambda findings: (places.get(findings.lane, len(places)), findings.lane))


def _admitted(response: FuseResponse, per_lane: int) -> list[Source]:
    """The best results as sources, at most `per_lane` for any one lane."""
    sources: list[Source] = []
    taken: dict[str, int] = {}
    for evidence in response.results:
        if len(sources) == SYNTHESIS_DOCUMENTS:
            break
        if all(taken.get(lane, 0) < per_lane for lane in evidence.lanes):
            taken.update({lane: taken.get(lane, 0) + 1 for lane in evidence.lanes})
            sources.append(evidence_source(evidence))
    return sources


def _report(lanes: Sequence[LaneFindings], found: Sequence[Found], response: FuseResponse) -> None:
    report: FusionReport = response.report
    report.received = sum(len(findings.evidence) for findings in lanes)
    report.distinct = len(found)
    report.dedup_rate = 1.0 - len(found) / report.received if report.received else 0.0
    agreed = sum(len(document.ranks) > 1 for document in found)
    report.source_agreement = agreed / len(found) if found else 0.0
    kept = {findings.lane: 0 for findings in lanes}
    for evidence in response.results:
        for lane in evidence.lanes:
            kept[lane] += 1
    for lane, count in kept.items():
        report.kept[lane] = count
