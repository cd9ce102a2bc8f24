"""How good rankings are against judgements, computed as trec_eval does. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2

Ranking = Sequence[str]
# Grade of each judged document; 0 and below is not relevant.
Judgements = Mapping[str, int]

NDCG_CUT = 10
RECALL_CUT = 100
MRR_CUT = 10


def ndcg(ranking: Ranking, judgements: Judgements, cut: int = NDCG_CUT) -> float:
    """Normalised discounted cumulative gain: the grade is the gain, the discount is log2 of the rank plus one."""
    ideal = _gain(sorted(judgements.values(), reverse=True)[:cut])
    return _gain([judgements.get(identity, 0) for identity in ranking[:cut]]) / ideal if ideal else 0.0


def recall(ranking: Ranking, judgements: Judgements, cut: int = RECALL_CUT) -> float:
    """Share of the relevant documents that stand above the cut."""
    relevant = {identity for identity, grade in judgements.items() if grade > 0}
    return len(relevant.intersection(ranking[:cut])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Ranking, judgements: Judgements, cut: int = MRR_CUT) -> float:
    """One over the rank of the first relevant document, 0 when none stands above the cut."""
    ranks = (rank for rank, identity in enumerate(ranking[:cut], 1) if judgements.get(identity, 0) > 0)
    return 1 / next(ranks, float("inf"))


def quality(rankings: Mapping[str, Ranking], judged: Mapping[str, Judgements]) -> dict[str, float]:
    """Means over every judged query; one without a ranking counts as having found nothing."""
    pairs = [(rankings.get(query, ()), judgements) for query, judgements in judged.items()]
    count = max(1, len(pairs))
    return {
        f"ndcg@{NDCG_CUT}": sum(ndcg(*pair) for pair in pairs) / count,
        f"recall@{RECALL_CUT}": sum(recall(*pair) for pair in pairs) / count,
        f"mrr@{MRR_CUT}": sum(reciprocal_rank(*pair) for pair in pairs) / count,
    }


def reciprocal_rank_fusion(rankings: Sequence[Ranking], k: float) -> list[str]:
    """Plain RRF, every ranking of the same weight; equal sums stand by best rank, then by identity."""
    scores: dict[str, float] = {}
    best: dict[str, int] = {}
    for ranking in rankings:
        for rank, identity in enumerate(ranking, 1):
            scores[identity] = scores.get(identity, 0.0) + 1 / (k + rank)
            best[identity] = min(best.get(identity, rank), rank)
    return sorted(scores, key=lambda identity: (-scores[identity], best[identity], identity))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of the values do not exceed; 0 when there is none."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)] if values else 0.0


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, 1) if grade > 0)
