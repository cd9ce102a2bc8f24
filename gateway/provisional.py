"""The order so far, while lanes are still running: plain RRF over document ids."""

from __future__ import annotations

from collections.abc import Sequence

from lanemesh.v1.evidence_pb2 import FINALITY_PROVISIONAL, Document, Evidence

from gateway.fanout import Outcome
from services.runtime.registry import Table


def order(outcomes: Sequence[Outcome], table: Table, limit: int) -> list[Evidence]:
    """Best first, without the documents' content."""
    scores: dict[str, float] = {}
    titles: dict[str, Document] = {}
    lanes: dict[str, list[str]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.lane):
        for rank, evidence in enumerate(outcome.reply.evidence if outcome.reply else (), start=1):
            document = evidence.document
            if outcome.lane in lanes.get(document.id, ()):
                continue
            scores[document.id] = scores.get(document.id, 0.0) + 1.0 / (table.fusion.rrf_k + rank)
            titles.setdefault(document.id, document)
            lanes.setdefault(document.id, []).append(outcome.lane)
    best = sorted(scores, key=lambda identity: (-scores[identity], identity))[:limit]
    return [_hit(titles[identity], scores[identity], lanes[identity]) for identity in best]


def _hit(document: Document, score: float, lanes: list[str]) -> Evidence:
    brief = Document(id=document.id, title=document.title, url=document.url, project=document.project)
    return Evidence(document=brief, score=score, lanes=lanes, finality=FINALITY_PROVISIONAL)
