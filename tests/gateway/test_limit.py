"""The limit finds how many requests the process can work on at once, and finds it again when the work changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.limit import Limit
from tests.gateway.clocks import HandClock
from tests.support import TABLE

ROW = replace(TABLE.protection.limit, minimum=4, initial=16, maximum=64, window=10, tolerance=2.0, memory_ms=30_000)


def windows(limit: Limit, clock: HandClock, count: int, seconds: float, in_flight: int | None = None) -> None:
    """So many windows of requests that each took so long, half a second a window."""
    for _ in range(count):
        clock.pass_(0.5)
        for _ in range(ROW.window):
            limit.learn(seconds, limit.size if in_flight is None else in_flight)


def saturated(limit: Limit, clock: HandClock, count: int, service: float) -> None:
    """Windows of a process that does one thing at a time: each request waits for all the others."""
    for _ in range(count):
        windows(limit, clock, 1, service * limit.size)


def test_it_begins_where_the_table_says_and_knows_nothing() -> None:
    limit = Limit(ROW, HandClock())
    assert (limit.size, limit.least) == (16, 0.0)


def test_it_grows_to_its_maximum_while_requests_do_not_slow_each_other() -> None:
    limit, clock = Limit(ROW, HandClock()), HandClock()
    windows(limit, clock, 40, 0.010)
    assert limit.size == ROW.maximum
    assert limit.least == pytest.approx(0.010)


def test_a_limit_nobody_reaches_does_not_grow() -> None:
    limit, clock = Limit(ROW, HandClock()), HandClock()
    windows(limit, clock, 40, 0.010, in_flight=3)
    assert limit.size == ROW.initial


def test_it_shrinks_to_a_few_when_each_waits_for_all_the_others() -> None:
    clock = HandClock()
    limit = Limit(ROW, clock)
    windows(limit, clock, 1, 0.005, in_flight=1)
    saturated(limit, clock, 40, 0.005)
    assert ROW.minimum <= limit.size <= 8


def test_it_grows_again_when_the_work_is_light_again() -> None:
    clock = HandClock()
    limit = Limit(ROW, clock)
    windows(limit, clock, 1, 0.005, in_flight=1)
    saturated(limit, clock, 20, 0.005)
    small = limit.size
    windows(limit, clock, 20, 0.005)
    assert limit.size > 2 * small


def test_work_that_has_become_heavier_for_good_is_measured_anew_at_the_minimum() -> None:
    clock = HandClock()
    limit = Limit(ROW, clock)
    windows(limit, clock, 5, 0.005)
    windows(limit, clock, 30, 0.050)
    assert limit.size == ROW.minimum
    assert limit.least == pytest.approx(0.005)
    for least in (0.010, 0.020):
        clock.pass_(ROW.memory_ms / 1000)
        windows(limit, clock, 3, 0.050)
        assert limit.least == pytest.approx(least)
        clock.pass_(ROW.memory_ms / 1000)
    windows(limit, clock, 3, 0.050)
    windows(limit, clock, 20, 0.050)
    assert limit.size > 2 * ROW.minimum


def test_one_bad_moment_while_it_measures_anew_does_not_open_the_gates() -> None:
    clock = HandClock()
    limit = Limit(ROW, clock)
    windows(limit, clock, 5, 0.005)
    windows(limit, clock, 30, 0.050)
    clock.pass_(ROW.memory_ms / 1000)
    windows(limit, clock, 1, 0.050)
    windows(limit, clock, 2, 2.0)
    assert limit.least == pytest.approx(0.010)
    windows(limit, clock, 20, 0.050)
    assert limit.size == ROW.minimum


def test_a_standing_queue_never_teaches_it_that_waiting_is_normal() -> None:
    clock = HandClock()
    limit = Limit(ROW, clock)
    saturated(limit, clock, 1_000, 0.005)
    assert limit.size <= 4 * ROW.minimum


@given(st.lists(st.floats(min_value=0.0, max_value=10.0), max_size=300))
def test_it_stays_within_its_bounds_whatever_it_sees(samples: list[float]) -> None:
    clock = HandClock()
    limit = Limit(ROW, clock)
    for sample in samples:
        clock.pass_(sample)
        limit.learn(sample, limit.size)
        assert ROW.minimum <= limit.size <= ROW.maximum
