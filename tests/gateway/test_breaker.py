"""A breaker opens on failures that speak against the lane, tries again by one call, and believes only what is news."""

from __future__ import annotations

import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import LaneStatus
from lanemesh.v1.search_pb2 import BREAKER_STATE_HALF_OPEN, BREAKER_STATE_OPEN

from gateway.breaker import Breaker
from tests.gateway.clocks import HandClock
from tests.support import TABLE

ROW = TABLE.protection.breaker
OK = (lane_pb2.LANE_STATUS_OK, "")
GONE = (lane_pb2.LANE_STATUS_ERROR, "UNAVAILABLE")
HUNG = (lane_pb2.LANE_STATUS_TIMEOUT, "DEADLINE_EXCEEDED")
Result = tuple[LaneStatus.ValueType, str]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def breaker(clock: HandClock) -> Breaker:
    return Breaker(ROW, clock)


def call(breaker: Breaker, result: Result) -> None:
    ticket = breaker.admit()
    assert ticket is not None
    breaker.record(ticket, *result)


def broken(breaker: Breaker, result: Result = GONE) -> Breaker:
    for _ in range(ROW.least_calls):
        call(breaker, result)
    assert breaker.admit() is None
    return breaker


def test_a_closed_breaker_shows_nothing(breaker: Breaker) -> None:
    assert breaker.admit() is not None
    assert breaker.message(0.0) is None


def test_it_opens_after_enough_calls_of_which_enough_failed(breaker: Breaker) -> None:
    for _ in range(ROW.least_calls - 1):
        call(breaker, GONE)
    assert breaker.admit() is not None
    call(breaker, GONE)
    assert breaker.admit() is None


def test_a_lane_that_mostly_answers_is_left_in(breaker: Breaker) -> None:
    for _ in range(50):
        for result in (OK, OK, GONE):
            call(breaker, result)


def test_it_opens_soon_after_a_long_time_of_answers(breaker: Breaker) -> None:
    for _ in range(1000):
        call(breaker, OK)
    for _ in range(ROW.calls // 2):
        call(breaker, HUNG)
    assert breaker.admit() is None


def test_old_failures_are_forgotten(breaker: Breaker, clock: HandClock) -> None:
    for _ in range(50):
        call(breaker, GONE)
        clock.pass_(ROW.window_ms / 1000 / (ROW.least_calls - 1) + 0.1)


@pytest.mark.parametrize(
    "result",
    [
        OK,
        (lane_pb2.LANE_STATUS_EMPTY, "NO_MATCH"),
        (lane_pb2.LANE_STATUS_PARTIAL, "DEADLINE_EXCEEDED"),
        (lane_pb2.LANE_STATUS_BYPASSED, "BUDGET_TOO_SMALL"),
        (lane_pb2.LANE_STATUS_ERROR, "INVALID_ARGUMENT"),
        (lane_pb2.LANE_STATUS_ERROR, "RESOURCE_EXHAUSTED"),
    ],
)
def test_what_does_not_speak_against_the_lane_never_opens_it(breaker: Breaker, result: Result) -> None:
    for _ in range(100):
        call(breaker, result)


@pytest.mark.parametrize("reason", ["UNAVAILABLE", "BAD_REPLY", "INTERNAL", "UNKNOWN", "UNIMPLEMENTED"])
def test_every_other_error_does(breaker: Breaker, reason: str) -> None:
    broken(breaker, (lane_pb2.LANE_STATUS_ERROR, reason))


def test_the_ledger_shows_when_the_next_call_may_pass(breaker: Breaker, clock: HandClock) -> None:
    shown = broken(breaker).message(now=5000.0)
    assert shown is not None
    assert shown.state == BREAKER_STATE_OPEN
    assert shown.next_try.ToMilliseconds() == 5_000_000 + ROW.first_try_ms
    clock.pass_(ROW.first_try_ms / 1000)
    assert breaker.admit() is not None
    shown = breaker.message(now=5000.0)
    assert shown is not None
    assert shown.state == BREAKER_STATE_HALF_OPEN


def test_one_probe_passes_and_its_success_closes(breaker: Breaker, clock: HandClock) -> None:
    broken(breaker)
    clock.pass_(ROW.first_try_ms / 1000)
    probe = breaker.admit()
    assert probe is not None
    assert breaker.admit() is None
    breaker.record(probe, *OK)
    assert breaker.message(0.0) is None
    for _ in range(ROW.least_calls - 1):
        call(breaker, GONE)
    assert breaker.admit() is not None


def waits(breaker: Breaker, clock: HandClock, result: Result, times: int) -> list[float]:
    """The waits, in milliseconds, between tries that fail so."""
    found = []
    for _ in range(times):
        found.append(round(breaker.wait() * 1000))
        clock.pass_(breaker.wait())
        call(breaker, result)
    return found


def test_a_lane_that_is_gone_is_tried_often_enough_to_be_back_within_a_second(
    breaker: Breaker, clock: HandClock
) -> None:
    broken(breaker)
    assert waits(breaker, clock, GONE, 5) == [100, 200, 250, 250, 250]


def test_a_lane_that_hangs_is_tried_ever_more_seldom(breaker: Breaker, clock: HandClock) -> None:
    broken(breaker, HUNG)
    assert waits(breaker, clock, HUNG, 7) == [100, 200, 400, 800, 1600, 3000, 3000]


def test_a_lane_that_came_back_begins_again_with_the_shortest_wait(breaker: Breaker, clock: HandClock) -> None:
    broken(breaker, HUNG)
    waits(breaker, clock, HUNG, 4)
    clock.pass_(breaker.wait())
    call(breaker, OK)
    broken(breaker, HUNG)
    assert breaker.wait() == pytest.approx(ROW.first_try_ms / 1000)


def test_a_probe_that_was_given_up_leaves_its_place_to_the_next(breaker: Breaker, clock: HandClock) -> None:
    broken(breaker)
    clock.pass_(1.0)
    probe = breaker.admit()
    assert probe is not None
    breaker.forget(probe)
    assert breaker.admit() is not None


def test_calls_from_before_it_opened_are_no_news(breaker: Breaker, clock: HandClock) -> None:
    early = [breaker.admit() for _ in range(30)]
    tickets = [ticket for ticket in early if ticket is not None]
    broken(breaker)
    for ticket in tickets[:10]:
        breaker.record(ticket, *OK)
        breaker.forget(ticket)
    assert breaker.admit() is None
    clock.pass_(1.0)
    probe = breaker.admit()
    assert probe is not None
    for ticket in tickets[10:20]:
        breaker.record(ticket, *GONE)
        breaker.forget(ticket)
    breaker.record(probe, *OK)
    for ticket in tickets[20:]:
        breaker.record(ticket, *GONE)
    assert breaker.admit() is not None
