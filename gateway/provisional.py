"""The order so far, while lanes are still running: RRF over document ids, and which hits no missing lane can move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from lanemesh.v1.evidence_pb2 import FINALITY_FINAL, FINALITY_PROVISIONAL, Document, Evidence

from gateway.outcome import Outcome
from services.runtime.registry import Table


def order(
    outcomes: Sequence[Outcome], waiting: Sequence[str], table: Table, query_types: Sequence[str], limit: int
) -> list[Evidence]:
    """Best first, without the documents' content. `waiting` are the lanes that have not ended."""
    weights = table.fusion.lane_weights(query_types)
    scores: dict[str, float] = {}
    titles: dict[str, Document] = {}
    lanes: dict[str, list[str]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.lane):
        for rank, evidence in enumerate(outcome.reply.evidence if outcome.reply else (), start=1):
            document = evidence.document
            if outcome.lane in lanes.get(document.id, ()):
                continue
            gained = weights.get(outcome.lane, 1.0) / (table.fusion.rrf_k + rank)
            scores[document.id] = scores.get(document.id, 0.0) + gained
            titles.setdefault(document.id, document)
            lanes.setdefault(document.id, []).append(outcome.lane)
    ranked = sorted(scores, key=lambda identity: (-scores[identity], identity))
    settled = final([scores[identity] for identity in ranked], most_to_gain(waiting, weights, table.fusion.rrf_k))
    hits = [_hit(titles[identity], scores[identity], lanes[identity]) for identity in ranked[:limit]]
    for hit, is_final in zip(hits, settled, strict=False):
        hit.finality = FINALITY_FINAL if is_final else FINALITY_PROVISIONAL
    return hits


def most_to_gain(waiting: Sequence[str], weights: Mapping[str, float], k: float) -> float:
    """The most that the missing lanes together can add to one document: the first rank in each."""
    return sum(weights.get(lane, 1.0) / (k + 1.0) for lane in waiting)


def final(scores: Sequence[float], gain: float) -> list[bool]:
    """Which places of a falling sequence of scores stand, whoever gains `gain`; a document not seen yet starts at 0."""
    if not gain:
        return [True] * len(scores)
    # A gap that no gain can close keeps apart all that is above it from all that is below.
    apart = [True, *(above > below + gain for above, below in pairwise([*scores, 0.0]))]
    return [above and below for above, below in pairwise(apart)]


def _hit(document: Document, score: float, lanes: list[str]) -> Evidence:
    brief = Document(id=document.id, title=document.title, url=document.url, project=document.project)
    return Evidence(document=brief, score=score, lanes=lanes)
