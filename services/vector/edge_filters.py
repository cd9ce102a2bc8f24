"""Conditions as filters of the embedded Qdrant."""

from __future__ import annotations

from collections.abc import Iterable

import qdrant_edge as edge

from services.vector.conditions import AnyOf, Condition, Within


def filter_of(conditions: Iterable[Condition], *more: edge.HasIdCondition) -> edge.Filter:
    """All of the conditions."""
    return edge.Filter(must=[*more, *map(_condition, conditions)])


def _condition(condition: Condition) -> edge.FieldCondition | edge.Filter:
    if isinstance(condition, AnyOf):
        return edge.FieldCondition(key=condition.field, match=edge.MatchAny(any=list(condition.values)))
    if isinstance(condition, Within):
        return edge.FieldCondition(key=condition.field, range=edge.RangeFloat(gte=condition.least, lt=condition.below))
    return edge.Filter(should=[filter_of(condition.first), filter_of(condition.second)])
