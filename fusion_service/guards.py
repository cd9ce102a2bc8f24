"""Guards against a lane that has nothing to say to a query, so that its ranking does not dilute the others'."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from lanemesh.v1.fusion_pb2 import LaneFindings

from fusion_service.coverage import Coverage
from fusion_service.identity import Found
from services.runtime.registry import FusionRow

# A lane stands apart when other lanes found no more than this share of its documents.
_APART = 0.1
# The best findings of a lane show whether it speaks of the question; off topic is this share of the best lane's.
_LOOKED_AT = 3
_OFF_TOPIC = 0.5
# With fewer findings equal scores are no sign; flat is a best score within this share of the worst.
_FEWEST, _FLAT = 5, 0.01


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each lane in one query; an unlisted lane weighs 1."""

    lanes: Mapping[str, float]
    # For documents that no other lane found. Agreement restores a lowered weight, so it can only raise a document.
    alone: Mapping[str, float]

    def of(self, found: Found) -> Mapping[str, float]:
        """The weights that count for a document."""
        return self.lanes if len(found.ranks) > 1 else self.alone


def weigh(
    lanes: Sequence[LaneFindings],
    found: Collection[Found],
    coverage: Coverage,
    query_types: Iterable[str],
    row: FusionRow,
) -> Weights:
    """The weights of the query's type, lowered for lanes that stand apart and are flat or off topic."""
    weights = row.lane_weights(query_types)
    speaking = [findings for findings in lanes if findings.evidence]
    apart = _apart(speaking, found) if len(speaking) > 1 else []
    if not apart:
        return Weights(weights, weights)
    topical = _topical(speaking, found, coverage)
    least = _OFF_TOPIC * max(topical.values())
    alone = dict(weights)
    for findings in apart:
        kept = row.guards["flat"] if _flat(findings) else 1.0
        kept *= row.guards["off_topic"] if topical[findings.lane] < least else 1.0
        alone[findings.lane] = weights.get(findings.lane, 1.0) * kept
    return Weights(weights, alone)


def _apart(lanes: Sequence[LaneFindings], found: Iterable[Found]) -> list[LaneFindings]:
    shared = dict.fromkeys((findings.lane for findings in lanes), 0)
    for document in found:
        if len(document.ranks) > 1:
            for lane in document.ranks:
                shared[lane] += 1
    return [findings for findings in lanes if shared[findings.lane] <= _APART * len(findings.evidence)]


def _topical(lanes: Iterable[LaneFindings], found: Iterable[Found], coverage: Coverage) -> dict[str, float]:
    """Mean coverage of each lane's best findings; 1 where it linked them to the question's entities."""
    values: dict[str, list[float]] = {findings.lane: [] for findings in lanes}
    for document in found:
        for lane, rank in document.ranks.items():
            if rank <= _LOOKED_AT:
                values[lane].append(coverage.of(document))
    for findings in lanes:
        if any(evidence.entities for evidence in findings.evidence[:_LOOKED_AT]):
            values[findings.lane] = [1.0]
    return {lane: sum(covered) / max(1, len(covered)) for lane, covered in values.items()}


def _flat(findings: LaneFindings) -> bool:
    scores = [evidence.score for evidence in findings.evidence]
    if len(scores) < _FEWEST or not all(map(isfinite, scores)):
        return False
    return max(scores) - min(scores) <= _FLAT * abs(max(scores))
