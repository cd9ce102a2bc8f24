"""Recomputes a fused order from the arithmetic in the reply, so that no caller has to take it on trust."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lanemesh.v1.evidence_pb2 import Evidence


def score(evidence: Evidence) -> float:
    """Σ weight / (k + rank) over the lanes, times 1 + Σ effects of the factors."""
    parts = evidence.components
    relevance = 0.0
    for part in parts.contributions:
        relevance += part.weight / (part.k + part.rank)
    return relevance * (1.0 + sum(factor.effect for factor in parts.factors))


def order(results: Iterable[Evidence]) -> list[str]:
    """Identities, best score first; equal scores by best rank in any lane, then by identity."""
    return [one.document.id for one in sorted(results, key=_key)]


def differences(results: Sequence[Evidence]) -> list[str]:
    """What in a reply does not follow from its own arithmetic, one sentence each; none when all does."""
    told = [f"{one.document.id}: {one.score} is not {score(one)}" for one in results if one.score != score(one)]
    given = [one.document.id for one in results]
    return told if given == order(results) else [*told, f"the order is {order(results)}, not {given}"]


def _key(evidence: Evidence) -> tuple[float, int, str]:
    ranks = [part.rank for part in evidence.components.contributions]
    return -score(evidence), min(ranks, default=0), evidence.document.id
