"""The order of documents, and the arithmetic behind it written into the evidence that is returned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappushpop
from math import isfinite

from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1.evidence_pb2 import Evidence, Span

from fusion_service.factors import Policy, Values, domain
from fusion_service.guards import Weights
from fusion_service.identity import Found, Sighting
from fusion_service.rrf import reciprocal, rrf

# What each near-duplicate adds to the confidence of the document that stands for it.
CORROBORATION = 0.1
# What a lane leaves to fusion and to streams; a lane that fills it is not believed.
_NOT_THE_LANES = ("lanes", "components", "corroborated_by", "superseded_by", "finality")
# Years 1 to 9999, all that a Timestamp may say.
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799


@dataclass(slots=True)
class Ranked:
    """A document and its score."""

    found: Found
    rrf: float
    values: Values
    multiplier: float
    score: float


def relevance(found: Iterable[Found], weights: Weights, k: float) -> dict[str, float]:
    """The RRF of every document by its id, best first; equal sums by best rank, then by id."""
    relevant = []
    for document in found:
        ranks = document.ranks
        if len(ranks) == 1:
            ((lane, rank),) = ranks.items()
            relevant.append((-weights.alone.get(lane, 1.0) / (k + rank), rank, document.id))
        else:
            relevant.append((-rrf(ranks, weights.lanes, k), *_tie(document)))
    relevant.sort()
    return {identity: -value for value, _, identity in relevant}


def rank(found: Iterable[Found], relevant: Mapping[str, float], policy: Policy, most: int) -> list[Ranked]:
    """Of documents that stand in order of relevance the best `most`; equal scores by best rank, then by id."""
    above: dict[str, int] = {}
    ranked: list[Ranked] = []
    best = [0.0] * most
    for document in found:
        value = relevant[document.id]
        # Whoever cannot enter, whatever the policy says, need not be read; nor anybody below.
        if value * policy.ceiling < best[0]:
            break
        repeats = _count(above, domain(document.best.url)) if document.best.url else 0
        if value * policy.most(document) >= best[0]:
            values = policy.values(document, repeats)
            bent = policy.multiplier(values)
            ranked.append(Ranked(document, value, values, bent, value * bent))
            heappushpop(best, value * bent)
    ranked.sort(key=lambda one: (-one.score, *_tie(one.found)))
    return ranked[:most]


def _count(above: dict[str, int], name: str) -> int:
    """How many documents of the domain stood above, this one now among them; none without a domain."""
    repeats = above.get(name, 0)
    if name:
        above[name] = repeats + 1
    return repeats


def _tie(found: Found) -> tuple[int, str]:
    return min(found.ranks.values()), found.id


def write(ranked: Ranked, weights: Weights, k: float, policy: Policy, target: Evidence) -> None:
    """Fills `target`, an empty message, with the document's most complete sighting and how its place was computed."""
    found = ranked.found
    target.CopyFrom(found.best.evidence)
    for field in _NOT_THE_LANES:
        target.ClearField(field)  # type: ignore[arg-type]
    target.document.id = found.id
    target.score = ranked.score
    target.lanes.extend(found.ranks)
    if len(found.sightings) > 1:
        _gather(found.sightings, target)
    if found.corroborated:
        target.corroborated_by.extend(found.corroborated)
        gained = CORROBORATION * len(found.corroborated)
        target.confidence = min(1.0, _within(target.confidence, 0.0, 1.0) + gained)
    _components(ranked, weights.of(found), k, target)
    target.components.factors.extend(policy.factors(ranked.values))
    _sanitise(target, len(found.best.content))


def _components(ranked: Ranked, weights: Mapping[str, float], k: float, target: Evidence) -> None:
    # A lane's sightings stand in rank order; walked backwards, its best one is the last to write.
    scores = {sighting.lane: sighting.evidence.score for sighting in reversed(ranked.found.sightings)}
    components = target.components
    components.rrf = ranked.rrf
    components.multiplier = ranked.multiplier
    components.score = ranked.score
    for lane, place in ranked.found.ranks.items():
        weight = weights.get(lane, 1.0)
        components.contributions.add(
            lane=lane,
            rank=place,
            weight=weight,
            k=k,
            value=reciprocal(weight, k, place),
            lane_score=scores[lane] if isfinite(scores[lane]) else 0.0,
        )


def _gather(sightings: Sequence[Sighting], target: Evidence) -> None:
    """What the other sightings add: providers, entities, scope, the highest confidence, a detail if there is none."""
    evidence = [sighting.evidence for sighting in sightings]
    for name in ("providers", "entities", "scope"):
        values = dict.fromkeys(value for one in evidence for value in getattr(one, name))
        field = getattr(target, name)
        del field[:]
        field.extend(values)
    target.confidence = max(_within(one.confidence, 0.0, 1.0) for one in evidence)
    if target.WhichOneof("detail") is None:
        for one in evidence:
            if (detail := one.WhichOneof("detail")) is not None:
                getattr(target, detail).CopyFrom(getattr(one, detail))
                break


def _sanitise(target: Evidence, length: int) -> None:
    """Drops figures no reader could use: what is not a number, spans outside the content, impossible times."""
    if not 0.0 <= target.confidence <= 1.0:
        target.confidence = _within(target.confidence, 0.0, 1.0)
    if not -1.0 <= target.provider_adjustment <= 1.0:
        target.provider_adjustment = _within(target.provider_adjustment, -1.0, 1.0)
    if target.HasField("passage") and not _holds(target.passage, length):
        target.ClearField("passage")
    if target.other_passages:
        held = [span for span in target.other_passages if _holds(span, length)]
        target.ClearField("other_passages")
        target.other_passages.extend(held)
    if target.document.HasField("published_at") and not _possible(target.document.published_at):
        target.document.ClearField("published_at")


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high) if isfinite(value) else 0.0


def _holds(span: Span, length: int) -> bool:
    return 0 <= span.start <= span.end <= length


def _possible(time: Timestamp) -> bool:
    return _FIRST_SECOND <= time.seconds <= _LAST_SECOND and 0 <= time.nanos < 1_000_000_000
