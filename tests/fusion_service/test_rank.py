"""The order of documents and the arithmetic in the reply."""

from __future__ import annotations

import math

import pytest
from lanemesh.v1.evidence_pb2 import Evidence

from fusion_service.coverage import Coverage
from fusion_service.factors import Policy
from fusion_service.guards import Weights
from fusion_service.identity import distinct
from fusion_service.question import ask
from fusion_service.rank import rank, relevance, write
from services.runtime.registry import load_table
from tests.fusion_service.samples import evidence, findings

NOW = 1_800_000_000.0


def written(*lanes: object, weights: dict[str, float] | None = None, most: int = 100) -> list[Evidence]:
    policy = Policy(load_table().fusion, NOW, Coverage(ask("anything", [])))
    given = Weights(weights or {}, weights or {})
    results = []
    found = {one.id: one for one in distinct(lanes)}  # type: ignore[arg-type]
    relevant = relevance(found.values(), given, 60)
    for ranked in rank([found[identity] for identity in relevant], relevant, policy, most):
        results.append(Evidence())
        write(ranked, given, 60, policy, results[-1])
    return results


def test_components_show_every_term() -> None:
    lanes = [findings("web", evidence("x"), evidence("a", score=0.9)), findings("kg", evidence("a", score=7.0))]
    best = written(*lanes, weights={"kg": 2.0})[0]
    parts = best.components
    assert [(c.lane, c.rank, c.weight, c.k, c.lane_score) for c in parts.contributions] == [
        ("web", 2, 1.0, 60.0, 0.9),
        ("kg", 1, 2.0, 60.0, 7.0),
    ]
    assert [c.value for c in parts.contributions] == [1 / 62, 2 / 61]
    assert parts.rrf == 1 / 62 + 2 / 61
    assert [factor.name for factor in parts.factors] == ["diversity", "recency", "authority", "quality"]
    assert parts.multiplier == 1.0 + sum(factor.effect for factor in parts.factors)
    assert best.score == parts.score == parts.rrf * parts.multiplier
    assert list(best.lanes) == ["web", "kg"]


def test_equal_scores_go_by_best_rank_then_id() -> None:
    lanes = [findings("web", evidence("b")), findings("kg", evidence("a")), findings("news", evidence("c"))]
    assert [result.document.id for result in written(*lanes)] == ["a", "b", "c"]


def test_only_the_best_are_returned_and_are_the_same_as_of_all() -> None:
    lane = findings("web", *(evidence(f"{n:02}", url=f"https://x{n % 7}.org/{n}") for n in range(40)))
    everything = written(lane, findings("local", evidence("99")))
    assert written(lane, findings("local", evidence("99")), most=10) == everything[:10]


def test_what_several_lanes_know_is_gathered() -> None:
    one, other = evidence("a", "the longer content"), evidence("a", "short")
    one.providers.append("brave")
    other.providers.extend(["guardian", "brave"])
    other.confidence = 0.8
    other.file.path = "a.md"
    (result,) = written(findings("web", one), findings("news", other))
    assert list(result.providers) == ["brave", "guardian"]
    assert (result.confidence, result.file.path) == (0.8, "a.md")
    assert result.document.content == "the longer content"


def test_a_lane_cannot_write_what_is_fusion_s_to_say() -> None:
    claimed = evidence("a")
    claimed.lanes.append("kg")
    claimed.components.rrf = 9.0
    claimed.corroborated_by.append("b")
    claimed.superseded_by = "b"
    (result,) = written(findings("web", claimed))
    assert list(result.lanes) == ["web"]
    assert result.components.rrf == 1 / 61
    assert not result.corroborated_by
    assert not result.superseded_by


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_figures_that_are_no_numbers_are_dropped(value: float) -> None:
    hostile = evidence("a", score=value)
    hostile.confidence = hostile.provider_adjustment = value
    (result,) = written(findings("web", hostile))
    assert (result.confidence, result.provider_adjustment) == (0.0, 0.0)
    assert result.components.contributions[0].lane_score == 0.0


def test_impossible_spans_and_times_are_dropped() -> None:
    hostile = evidence("a", "content")
    hostile.passage.end = 8
    hostile.other_passages.add(start=1, end=3)
    hostile.other_passages.add(start=3, end=1)
    hostile.document.published_at.seconds = 2**62
    (result,) = written(findings("web", hostile))
    assert not result.HasField("passage")
    assert [(span.start, span.end) for span in result.other_passages] == [(1, 3)]
    assert not result.document.HasField("published_at")
