"""Text in scripts without spaces as pairs of characters, and other text as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.text.unspaced import is_unspaced, pairs_of, runs_of


@pytest.mark.parametrize(
    ("word", "pairs"),
    [
        ("penguin", ["penguin"]),
        ("北京", ["北京"]),
        ("首都博物馆", ["首都", "都博", "博物", "物馆"]),
        ("馆", ["馆"]),
        ("covid疫苗b", ["covid", "b", "疫苗"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("서울", ["서울"]),
    ],
)
def test_pairs(word: str, pairs: list[str]) -> None:
    assert pairs_of(word) == pairs


def test_marks_are_no_characters() -> None:
    assert runs_of("กรุงเทพ is Bangkok") == ["กรงเทพ"]


@given(st.text(max_size=40))
def test_what_is_left_over_is_spaced(text: str) -> None:
    assert all(is_unspaced(run) and run.isalnum() for run in runs_of(text))
    assert all(len(part) <= 2 for part in pairs_of(text) if is_unspaced(part))
