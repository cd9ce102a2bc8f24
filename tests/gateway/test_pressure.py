"""Pressure is the worst of three figures, smoothed, and forgets."""

from __future__ import annotations

import asyncio

import pytest

from gateway.pressure import Pressure
from tests.support import TABLE

ROW = TABLE.protection.pressure


def sampled(pressure: Pressure, times: int, lag: float = 0.0, shares: tuple[float, ...] = ()) -> float:
    for _ in range(times):
        pressure.spend(shares)
        pressure.sample(lag)
    return pressure()


def test_nothing_to_do_is_no_pressure() -> None:
    assert sampled(Pressure(ROW, lambda: 0.0), 10) == 0.0


def test_one_full_instant_is_no_pressure_but_a_full_second_is() -> None:
    pressure = Pressure(ROW, lambda: 1.0)
    assert sampled(pressure, 1) < TABLE.load.threshold
    assert sampled(pressure, 20) > TABLE.load.threshold


def test_a_loop_as_late_as_the_table_allows_is_full() -> None:
    assert sampled(Pressure(ROW, lambda: 0.0), 50, lag=ROW.lag_ms / 1000) == pytest.approx(1.0, abs=0.01)


def test_a_very_late_loop_counts_no_more_than_full() -> None:
    assert sampled(Pressure(ROW, lambda: 0.0), 50, lag=60.0) <= 1.0


def test_budgets_are_counted_as_the_mean_over_lanes_so_that_one_hung_lane_is_no_pressure() -> None:
    assert sampled(Pressure(ROW, lambda: 0.0), 50, shares=(1.0, 0.1, 0.1)) == pytest.approx(0.4, abs=0.01)
    assert sampled(Pressure(ROW, lambda: 0.0), 50, shares=(1.0, 0.9, 0.8)) > TABLE.load.threshold


def test_pressure_passes_when_its_cause_does() -> None:
    busy = [1.0]
    pressure = Pressure(ROW, lambda: busy[0])
    sampled(pressure, 50, lag=1.0, shares=(1.0,))
    assert pressure() > TABLE.load.preflight_threshold
    busy[0] = 0.0
    assert sampled(pressure, 50) < 0.01


async def test_the_loop_is_sampled_until_told_to_stop() -> None:
    asked = asyncio.Event()

    def busy() -> float:
        asked.set()
        return 1.0

    pressure = Pressure(ROW, busy)
    pressure.start()
    await asked.wait()
    asked.clear()
    await asked.wait()
    assert 0.0 < pressure() <= 1.0
    pressure.stop()
