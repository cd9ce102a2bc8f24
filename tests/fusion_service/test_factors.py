"""The policy: each factor's value, and how little all together may change."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusion_service.coverage import Coverage
from fusion_service.factors import DAY, Policy, Values
from fusion_service.identity import distinct
from fusion_service.question import ask
from services.runtime.registry import load_table
from tests.fusion_service.samples import any_evidence, evidence, findings

NOW = 1_800_000_000.0
ROW = load_table().fusion
POLICY = Policy(ROW, NOW, Coverage(ask("failed charges of Zürich", [])))
PROSE = "The adapter retries a failed charge three times and then gives up. " * 4


def values(lane: str = "web", repeats: int = 0, **fields: Any) -> Values:
    published = fields.pop("age", None)
    found = evidence("a", **fields)
    if published is not None:
        found.document.published_at.seconds = int(NOW - published * DAY)
    policy = Policy(ROW, NOW, Coverage(ask("failed charges of Zürich", [])))
    return policy.values(distinct([findings(lane, found)])[0], repeats)


@pytest.mark.parametrize(
    ("age", "value"),
    [
        (0, 1.0),
        (1, 1.0),
        (6, 0.8),
        (30, 0.6),
        (365, 0.4),
        (366, 0.2),
        (700_000, 0.2),
        (None, 0.5),
        (-2, 0.5),
        (-0.5, 1),
    ],
)
def test_recency(age: float | None, value: float) -> None:
    assert values(age=age).recency == value


@pytest.mark.parametrize(
    ("url", "value"),
    [
        ("https://en.wikipedia.org/wiki/Retry", 0.9),
        ("https://pubmed.ncbi.nlm.nih.gov/1", 0.9),
        ("https://gist.github.com/x", 0.8),
        ("https://a.blogspot.com", 0.5),
        ("https://mit.edu/x", 0.8),
        ("https://www.ox.ac.uk", 0.8),
        ("https://service.gov.uk", 0.9),
        ("https://somebody.org", 0.7),
        ("https://organic.com", 0.5),
        ("docs/a.md", 0.5),
        ("", 0.5),
    ],
)
def test_authority(url: str, value: float) -> None:
    assert values(url=url).authority == value


def test_diversity_falls_with_every_document_of_the_domain_above() -> None:
    assert [values(repeats=above).diversity for above in range(3)] == [1.0, 1 / 2, 1 / 3]


def test_quality_is_readability_and_completeness() -> None:
    assert values().quality == 0.0
    assert values(content=PROSE).quality == 0.625
    assert values(content=PROSE, title="t", url="https://x.org", author="a").quality == 1.0
    assert values(content="x" * 500).quality == 0.125


def test_coverage_is_the_share_of_subjects_spoken_of() -> None:
    assert values(content=PROSE).coverage == 2 / 3
    assert values(content=PROSE, title="Zürich").coverage == 1.0
    assert Coverage(ask("how is it?", [])).of(distinct([findings("web", evidence("a", PROSE))])[0]) == 0.0


def test_evidence_terms() -> None:
    linked = evidence("a")
    linked.entities.append("PaymentGateway")
    graph = POLICY.values(distinct([findings("kg", linked)])[0], 0)
    assert (graph.entity_match, graph.local) == (1.0, 0.0)
    assert values("kg").entity_match == 0.0
    assert values("local").local == 1.0
    assert [values(content="x" * size).length for size in (8_000, 24_000, 90_000)] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("adjustment", "value"), [(-1.0, 0.0), (0.0, 0.5), (1.0, 1.0), (9.0, 1.0), (math.nan, 0.5), (math.inf, 0.5)]
)
def test_the_provider_adjustment_is_bounded(adjustment: float, value: float) -> None:
    adjusted = evidence("a")
    adjusted.provider_adjustment = adjustment
    assert POLICY.values(distinct([findings("web", adjusted)])[0], 0).provider == value


@given(any_evidence(), st.integers(0, 50), st.sampled_from(["web", "kg", "local"]))
def test_the_multiplier_is_bounded(found: Any, repeats: int, lane: str) -> None:
    found.document.id = "a"
    (document,) = distinct([findings(lane, found)])
    bent = POLICY.multiplier(POLICY.values(document, repeats))
    assert 0.7 < bent <= POLICY.most(document) + 1e-12


def test_the_policy_is_in_its_proportion() -> None:
    shown = {factor.name: factor.weight for factor in POLICY.factors(values())}
    assert shown == {"diversity": 0.4, "recency": 0.3, "authority": 0.2, "quality": 0.1}
