"""How a disagreement is settled. Nothing is dropped: the loser stays, marked."""

from __future__ import annotations

from collections.abc import Mapping

from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.fusion_pb2 import Disagreement, DisagreementType, ResolutionStrategy

from fusion_service.labels import LOCAL

LATEST_WINS = ResolutionStrategy.RESOLUTION_STRATEGY_LATEST_WINS
HIGHEST_CONFIDENCE = ResolutionStrategy.RESOLUTION_STRATEGY_HIGHEST_CONFIDENCE
INCLUDE_BOTH = ResolutionStrategy.RESOLUTION_STRATEGY_INCLUDE_BOTH
ASK_USER = ResolutionStrategy.RESOLUTION_STRATEGY_ASK_USER

# What a superseded document keeps of its confidence.
SUPERSEDED = 0.5
_BY_TYPE = {
    DisagreementType.DISAGREEMENT_TYPE_FACTUAL: LATEST_WINS,
    DisagreementType.DISAGREEMENT_TYPE_TEMPORAL: LATEST_WINS,
    DisagreementType.DISAGREEMENT_TYPE_SCOPE: INCLUDE_BOTH,
}


def resolve(disagreement: Disagreement, asked: ResolutionStrategy.ValueType, results: Mapping[str, Evidence]) -> bool:
    """Applies the strategy asked for, or that of the type; where it decides nothing both stand. True when settled."""
    strategy = asked or _BY_TYPE[disagreement.type]
    documents = [side.citation.document_id for side in disagreement.claims]
    winner = ""
    if strategy == LATEST_WINS:
        winner = _latest(disagreement)
    elif strategy == HIGHEST_CONFIDENCE:
        winner = _surest([results[identity] for identity in documents])
    if strategy in (LATEST_WINS, HIGHEST_CONFIDENCE) and not winner:
        strategy = INCLUDE_BOTH
    disagreement.resolution = strategy
    disagreement.preferred_document_id = winner
    if strategy == LATEST_WINS:
        loser = results[documents[0] if documents[1] == winner else documents[1]]
        if not loser.superseded_by:
            loser.superseded_by = winner
            loser.confidence *= SUPERSEDED
    return strategy != ASK_USER


def _latest(disagreement: Disagreement) -> str:
    """The later document; none where a date is not known or both are the same."""
    one, other = disagreement.claims
    if not (one.HasField("published_at") and other.HasField("published_at")):
        return ""
    times = [(side.published_at.seconds, side.published_at.nanos) for side in (one, other)]
    if times[0] == times[1]:
        return ""
    return (one if times[0] > times[1] else other).citation.document_id


def _surest(sides: list[Evidence]) -> str:
    """Graph over what was found by search, over local; among equals the lanes' own confidence."""
    one, other = ((_standing(evidence), evidence.confidence) for evidence in sides)
    if one == other:
        return ""
    return sides[0 if one > other else 1].document.id


def _standing(evidence: Evidence) -> int:
    if "kg" in evidence.lanes:
        return 2
    return 0 if list(evidence.lanes) == [LOCAL] else 1
