"""Reciprocal rank fusion: a document's score is the sum of weight / (k + rank) over the lanes that found it."""

from __future__ import annotations

from collections.abc import Mapping


def reciprocal(weight: float, k: float, rank: int) -> float:
    """What one lane's rank adds; ranks count from 1."""
    return weight / (k + rank)


def rrf(ranks: Mapping[str, int], weights: Mapping[str, float], k: float) -> float:
    """The fused score of one document, summed in the order of `ranks`; an unlisted lane weighs 1."""
    score = 0.0
    for lane, rank in ranks.items():
        score += weights.get(lane, 1.0) / (k + rank)
    return score
