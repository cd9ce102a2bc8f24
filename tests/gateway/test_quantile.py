"""The quantile is the one a sort of the latest values gives."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.quantile import Recent


@given(
    st.lists(st.floats(min_value=0.0, max_value=1e6), min_size=1, max_size=100),
    st.integers(min_value=1, max_value=40),
    st.floats(min_value=0.01, max_value=1.0),
)
def test_it_is_exact_over_the_latest_values(values: list[float], size: int, share: float) -> None:
    recent = Recent(size)
    for value in values:
        recent.add(value)
    latest = sorted(values[-size:])
    assert len(recent) == len(latest)
    assert recent.quantile(share) == latest[ceil(share * len(latest)) - 1]


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100)])
def test_known_quantiles(share: float, expected: int) -> None:
    recent = Recent(100)
    for value in range(1, 101):
        recent.add(value)
    assert recent.quantile(share) == expected
