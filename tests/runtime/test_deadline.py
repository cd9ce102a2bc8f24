"""A deadline is spent, never reset."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runtime.deadline import SOFT_MAXIMUM, SOFT_MINIMUM, Deadline, ambient, current
from services.runtime.errors import DeadlinePassed
from tests.runtime.conftest import Clock


def test_time_is_spent_as_the_clock_moves(clock: Clock) -> None:
    deadline = Deadline.after(2.0, clock)
    assert deadline.remaining() == 2.0
    clock.now += 1.5
    assert deadline.remaining() == 0.5
    assert not deadline.passed()
    clock.now += 0.5
    assert deadline.passed()
    clock.now += 1.0
    assert deadline.remaining() == -1.0


def test_require_gives_what_is_left_or_raises(clock: Clock) -> None:
    deadline = Deadline.after(1.0, clock)
    assert deadline.require() == 1.0
    clock.now += 1.0
    with pytest.raises(DeadlinePassed):
        deadline.require()


@pytest.mark.parametrize(
    ("seconds", "margin"),
    [(0.5, 0.025), (0.3, 0.015), (2.0, SOFT_MAXIMUM), (10.0, SOFT_MAXIMUM), (0.02, SOFT_MINIMUM)],
)
def test_the_soft_deadline_is_a_bounded_share_earlier(clock: Clock, seconds: float, margin: float) -> None:
    soft = Deadline.after(seconds, clock).soft()
    assert soft.remaining() == pytest.approx(seconds - margin)
    assert soft.clock is clock


@given(st.floats(min_value=-5.0, max_value=1_000.0))
def test_the_soft_deadline_always_comes_first(seconds: float) -> None:
    deadline = Deadline.after(seconds, Clock())
    margin = deadline.at - deadline.soft().at
    assert SOFT_MINIMUM * 0.999 <= margin <= SOFT_MAXIMUM * 1.001


def test_nothing_is_ambient_outside_a_call() -> None:
    assert current() is None


def test_the_inner_deadline_is_current_until_its_block_ends(clock: Clock) -> None:
    outer, inner = Deadline.after(2.0, clock), Deadline.after(1.0, clock)
    with ambient(outer):
        with ambient(inner) as given_back:
            assert current() is inner is given_back
        assert current() is outer
    assert current() is None


def test_a_failing_block_gives_its_deadline_back(clock: Clock) -> None:
    with pytest.raises(ValueError, match="broken"), ambient(Deadline.after(1.0, clock)):
        raise ValueError("broken")
    assert current() is None


async def test_tasks_inherit_the_deadline_and_calls_side_by_side_do_not_mix(clock: Clock) -> None:
    async def seen() -> Deadline | None:
        return current()

    async def call(deadline: Deadline) -> Deadline | None:
        with ambient(deadline):
            return await asyncio.create_task(seen())

    deadlines = [Deadline.after(float(seconds), clock) for seconds in range(1, 5)]
    assert await asyncio.gather(*map(call, deadlines)) == deadlines
    assert current() is None
