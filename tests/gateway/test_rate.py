"""A bucket holds a burst, fills steadily, and says how long an empty one needs."""

from __future__ import annotations

import pytest

from gateway.rate import Bucket, Rate
from tests.runtime.conftest import Clock


def test_a_burst_and_then_one_at_a_time() -> None:
    clock = Clock()
    bucket = Bucket(Rate(per_second=2.0, burst=3.0), clock)
    assert [bucket.take() for _ in range(3)] == [0.0, 0.0, 0.0]
    assert bucket.take() == pytest.approx(0.5)
    clock.now += 0.25
    assert bucket.take() == pytest.approx(0.25)
    clock.now += 0.25
    assert bucket.take() == 0.0
    assert bucket.take() == pytest.approx(0.5)


def test_silence_saves_up_no_more_than_a_burst() -> None:
    clock = Clock()
    bucket = Bucket(Rate(per_second=10.0, burst=2.0), clock)
    clock.now += 3_600.0
    assert [bucket.take() == 0.0 for _ in range(3)] == [True, True, False]


def test_less_than_one_call_a_second() -> None:
    clock = Clock()
    bucket = Bucket(Rate(per_second=0.1, burst=1.0), clock)
    assert bucket.take() == 0.0
    assert bucket.take() == pytest.approx(10.0)
    clock.now += 10.0
    assert bucket.take() == 0.0
