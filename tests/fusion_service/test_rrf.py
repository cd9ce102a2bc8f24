"""The sum of reciprocal ranks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fusion_service.rrf import reciprocal, rrf

ranks = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 100), min_size=1)


def test_sum_of_reciprocal_ranks() -> None:
    assert rrf({"web": 1, "kg": 3}, {}, 60) == 1 / 61 + 1 / 63
    assert rrf({"web": 1, "kg": 3}, {"kg": 2.0, "web": 0.0}, 60) == 2 / 63


def test_one_lane_adds_its_reciprocal_rank() -> None:
    assert rrf({"web": 4}, {"web": 0.5}, 60) == reciprocal(0.5, 60, 4)


@given(ranks, st.integers(1, 100))
def test_agreement_raises_a_document(found: dict[str, int], rank: int) -> None:
    assert rrf({**found, "another": rank}, {}, 60) > rrf(found, {}, 60)
