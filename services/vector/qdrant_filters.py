"""Conditions as filters of a Qdrant server."""

from __future__ import annotations

from collections.abc import Iterable

from qdrant_client import models

from services.vector.conditions import AnyOf, Condition, Within


def filter_of(conditions: Iterable[Condition], *more: models.HasIdCondition) -> models.Filter:
    """All of the conditions."""
    return models.Filter(must=[*more, *map(_condition, conditions)])


def _condition(condition: Condition) -> models.FieldCondition | models.Filter:
    if isinstance(condition, AnyOf):
        return models.FieldCondition(key=condition.field, match=models.MatchAny(any=list(condition.values)))
    if isinstance(condition, Within):
        return models.FieldCondition(key=condition.field, range=models.Range(gte=condition.least, lt=condition.below))
    return models.Filter(should=[filter_of(condition.first), filter_of(condition.second)])
