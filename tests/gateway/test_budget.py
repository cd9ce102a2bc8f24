"""Every cell of the time table, written out by hand, and the arithmetic around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import budget
from tests.support import TABLE

MODES = ("simple", "technical", "research", "multimedia")
LANE_MS = {
    "web": (1000, 1500, 2000, 2000),
    "vector": (1000, 1500, 2000, 2000),
    "kg": (1000, 1500, 2000, 2000),
    "keyword": (500, 750, 1000, 1000),
    "news": (300, 500, 800, 800),
    "markets": (300, 500, 800, 800),
    "local": (300, 500, 800, 800),
    "preflight": (500, 500, 500, 500),
}
WHOLE_MS = dict(zip(MODES, (5000, 7000, 10000, 10000), strict=True))
RESERVE_MS = dict(zip(MODES, (500, 700, 900, 900), strict=True))
FUSION_MS = dict(zip(MODES, (200, 300, 400, 400), strict=True))
CELLS = [(lane, mode, ms) for lane, row in LANE_MS.items() for mode, ms in zip(MODES, row, strict=True)]

LANES = st.sampled_from(list(TABLE.lanes.values()))
MODE_NAMES = st.sampled_from(MODES)
FACTORS = st.floats(0.1, 4.0)
LEFT = st.floats(-10_000.0, 60_000.0)


def test_the_table_has_these_lanes_and_modes() -> None:
    assert set(TABLE.lanes) == set(LANE_MS)
    assert set(TABLE.modes) == set(MODES)


@pytest.mark.parametrize(("lane", "mode", "ms"), CELLS)
def test_a_lane_gets_its_cell_of_the_table(lane: str, mode: str, ms: float) -> None:
    kept = budget.reserve(TABLE, mode, WHOLE_MS[mode])
    assert budget.lane_budget(TABLE.lanes[lane], mode, 1.0, WHOLE_MS[mode], kept.total_ms) == ms


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_has_its_whole_reserve_and_fusion_time(mode: str) -> None:
    assert TABLE.modes[mode].deadline_ms == WHOLE_MS[mode]
    kept = budget.reserve(TABLE, mode, WHOLE_MS[mode])
    assert (kept.total_ms, kept.fusion_ms) == (RESERVE_MS[mode], FUSION_MS[mode])


@pytest.mark.parametrize(("cost", "factor"), [("low", 0.5), ("medium", 1.0), ("high", 2.0)])
@pytest.mark.parametrize(("lane", "mode", "ms"), CELLS)
def test_cost_multiplies_the_cell(lane: str, mode: str, ms: float, cost: str, factor: float) -> None:
    assert TABLE.costs[cost].time_factor == factor
    assert budget.lane_budget(TABLE.lanes[lane], mode, factor, 60_000.0, 900.0) == ms * factor


@pytest.mark.parametrize(("lane", "mode", "ms"), CELLS)
def test_what_is_left_less_the_reserve_clamps_the_cell(lane: str, mode: str, ms: float) -> None:
    left, kept = ms + 100.0, 250.0
    assert budget.lane_budget(TABLE.lanes[lane], mode, 2.0, left, kept) == left - kept


@pytest.mark.parametrize("mode", MODES)
def test_the_reserve_shrinks_under_a_short_deadline_and_fusion_with_it(mode: str) -> None:
    kept = budget.reserve(TABLE, mode, 300.0)
    assert kept.total_ms == pytest.approx(TABLE.reserve_share * 300.0)
    assert kept.fusion_ms / kept.total_ms == pytest.approx(FUSION_MS[mode] / RESERVE_MS[mode])


@pytest.mark.parametrize("left", [0.0, -1.0])
def test_without_time_there_is_neither_reserve_nor_budget(left: float) -> None:
    kept = budget.reserve(TABLE, "simple", left)
    assert (kept.total_ms, kept.fusion_ms) == (0.0, 0.0)
    assert budget.lane_budget(TABLE.lanes["kg"], "simple", 1.0, left, kept.total_ms) == 0.0


@pytest.mark.parametrize(("load", "factor"), [(0.0, 1.0), (0.8, 1.0), (0.81, 0.9), (1.0, 0.9)])
def test_load_above_the_threshold_takes_a_tenth(load: float, factor: float) -> None:
    assert budget.load_factor(TABLE, load) == factor


@pytest.mark.parametrize("lane", LANE_MS)
def test_a_lane_fits_from_its_minimum_on(lane: str) -> None:
    row = TABLE.lanes[lane]
    assert budget.fits(row, row.minimum_ms)
    assert not budget.fits(row, row.minimum_ms - 0.001)


@given(LANES, MODE_NAMES, FACTORS, LEFT)
def test_a_budget_is_never_negative_and_never_beyond_what_is_left(lane, mode, factor, left) -> None:
    kept = budget.reserve(TABLE, mode, left)
    granted = budget.lane_budget(lane, mode, factor, left, kept.total_ms)
    assert 0.0 <= granted <= max(0.0, left - kept.total_ms)
    assert 0.0 <= kept.fusion_ms <= kept.total_ms <= max(0.0, left)


@given(LANES, MODE_NAMES, FACTORS, LEFT, LEFT)
def test_more_time_left_never_means_a_smaller_budget(lane, mode, factor, one, other) -> None:
    granted = [
        budget.lane_budget(lane, mode, factor, left, budget.reserve(TABLE, mode, left).total_ms)
        for left in sorted((one, other))
    ]
    assert granted[0] <= granted[1] + 1e-9
