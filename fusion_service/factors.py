"""The ranking policy as a bounded multiplier on relevance: strong enough to decide between near-equals, no more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

from lanemesh.v1.evidence_pb2 import Document, ScoreFactor

from fusion_service.coverage import Coverage
from fusion_service.identity import Found
from fusion_service.labels import LOCAL
from services.runtime.registry import FusionRow
from services.text.urls import registrable_domain

GRAPH_LANE = "kg"
DAY = 86_400.0
_AGES = ((1.0, "day"), (7.0, "week"), (30.0, "month"), (365.0, "year"))
# Quality is judged by the opening of a text.
_OPENING = 500
# Mean characters of a word, its space included, in running text of any spaced script.
_WORD = (4.0, 10.0)
_SUBSTANTIAL = 200


class Values(NamedTuple):
    """What each factor says of one document, 0..1."""

    diversity: float
    recency: float
    authority: float
    quality: float
    coverage: float
    entity_match: float
    local: float
    length: float
    # 0.5 is neutral: below it a penalty, above it a boost.
    provider: float


class Policy:
    """The factors of one configuration at one instant."""

    def __init__(self, row: FusionRow, now: float, coverage: Coverage) -> None:
        self._row = row
        self._now = now
        self._coverage = coverage
        whole = sum(row.policy.values())
        # Many documents share the same values.
        self._bent: dict[Values, float] = {}
        self._known: dict[Values, list[ScoreFactor]] = {}
        self._shares = {name: part / whole for name, part in row.policy.items()} | dict(row.terms)
        self._most = 1.0 + row.strength + row.terms["coverage"]
        # The largest multiplier any document could have.
        self.ceiling = self._most + row.terms["provider"] + row.terms["entity_match"] + row.terms["local"]
        self._scale = tuple(row.strength * self._shares[name] for name in Values._fields[:4])

    def most(self, found: Found) -> float:
        """The largest multiplier the document could have, known without reading its text."""
        terms = self._row.terms
        adjustment = found.best.evidence.provider_adjustment
        most = self._most if adjustment <= 0.0 else self._most + terms["provider"]
        if GRAPH_LANE in found.ranks:
            most += terms["entity_match"]
        return most + terms["local"] if LOCAL in found.ranks else most

    def values(self, found: Found, repeats: int) -> Values:
        """The values for a document of whose domain `repeats` documents stand above it."""
        best, ranks = found.best, found.ranks
        evidence, content = best.evidence, best.content
        document = evidence.document
        adjustment = evidence.provider_adjustment
        return Values(
            1.0 / (1 + repeats),
            self._recency(document) if document.HasField("published_at") else self._row.recency["unknown"],
            self._authority(domain(best.url) if best.url else ""),
            _quality(document, content),
            self._coverage.of(found),
            1.0 if GRAPH_LANE in ranks and any(one.evidence.entities for one in found.sightings) else 0.0,
            1.0 if LOCAL in ranks else 0.0,
            self._length(len(content)),
            (_bounded(adjustment) + 1.0) / 2.0 if adjustment else 0.5,
        )

    def multiplier(self, values: Values) -> float:
        """1 + Σ effects, summed in their order."""
        bent = self._bent.get(values)
        if bent is None:
            bent = self._bent[values] = 1.0 + sum(self.effects(values))
        return bent

    def effects(self, values: Values) -> tuple[float, ...]:
        """What each value adds to the multiplier, in the order of the values."""
        diversity, recency, authority, quality = self._scale
        terms = self._row.terms
        return (
            diversity * (2.0 * values.diversity - 1.0),
            recency * (2.0 * values.recency - 1.0),
            authority * (2.0 * values.authority - 1.0),
            quality * (2.0 * values.quality - 1.0),
            terms["coverage"] * values.coverage,
            terms["entity_match"] * values.entity_match,
            terms["local"] * values.local,
            -terms["length"] * values.length,
            terms["provider"] * (2.0 * values.provider - 1.0),
        )

    def factors(self, values: Values) -> Sequence[ScoreFactor]:
        """The policy factors always, an evidence term where it has an effect."""
        known = self._known.get(values)
        if known is None:
            named = zip(Values._fields, values, self.effects(values), strict=True)
            known = self._known[values] = [
                ScoreFactor(name=name, value=value, weight=self._shares[name], effect=effect)
                for name, value, effect in named
                if effect or name in self._row.policy
            ]
        return known

    def _recency(self, document: Document) -> float:
        table = self._row.recency
        age = (self._now - document.published_at.seconds) / DAY
        # A date that is still to come says nothing about age; the clocks of sources may differ by a day.
        if age < -1.0:
            return table["unknown"]
        return table[next((name for days, name in _AGES if age <= days), "older")]

    def _authority(self, name: str) -> float:
        table = self._row.authority
        if not name or name in table:
            return table[name or "otherwise"]
        labels = name.split(".")[1:]
        return next((table[f".{label}"] for label in labels if f".{label}" in table), table["otherwise"])

    def _length(self, characters: int) -> float:
        first, full = self._row.length["from"], self._row.length["full"]
        return 0.0 if characters <= first else min(1.0, (characters - first) / (full - first))


@lru_cache(maxsize=1 << 13)
def domain(url: str) -> str:
    """The registrable domain of a URL, empty for none."""
    return registrable_domain(url) if url else ""


def _quality(document: Document, content: str) -> float:
    """Half readability, half completeness."""
    opening = content[:_OPENING]
    width = len(opening) / (opening.count(" ") + 1)
    value = 0.5 if _WORD[0] <= width <= _WORD[1] or not opening.isascii() else 0.0
    has = (document.title != "") + (document.url != "") + (document.author != "") + (len(content) >= _SUBSTANTIAL)
    return value + 0.125 * has


def _bounded(adjustment: float) -> float:
    return min(max(adjustment, -1.0), 1.0) if isfinite(adjustment) else 0.0
