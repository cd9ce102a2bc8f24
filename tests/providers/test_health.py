"""A provider's health: demoted, suspended for longer and longer, probed once, forgiven with time."""

from __future__ import annotations

import pytest

from services.providers.health import Health, HealthSettings, Standing
from tests.providers.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(HealthSettings(), clock)


def fail(health: Health, times: int) -> None:
    for _ in range(times):
        health.failed()


def test_an_unknown_provider_is_sound(health: Health) -> None:
    assert (health.standing(), health.share(), health.admit()) == (Standing.SOUND, 0.0, True)


def test_above_thirty_percent_it_is_demoted_above_fifty_suspended(health: Health) -> None:
    fail(health, 1)
    assert health.share() == pytest.approx(1 / 3)
    assert health.standing() is Standing.DEMOTED
    fail(health, 1)
    assert health.share() == pytest.approx(0.5)
    assert health.standing() is Standing.DEMOTED
    fail(health, 1)
    assert health.standing() is Standing.SUSPENDED
    assert not health.admit()


def test_successes_outweigh_failures(health: Health) -> None:
    for _ in range(10):
        health.succeeded()
    fail(health, 4)
    assert health.standing() is Standing.SOUND
    fail(health, 2)
    assert health.standing() is Standing.DEMOTED


def test_failures_are_forgotten_with_time(health: Health, clock: Clock) -> None:
    fail(health, 2)
    before = health.share()
    clock.now += HealthSettings().half_life
    assert health.share() == pytest.approx(1 / 3)
    assert health.share() < before
    clock.now += 10 * HealthSettings().half_life
    assert health.standing() is Standing.SOUND


def test_one_probe_at_a_time_decides(health: Health, clock: Clock) -> None:
    fail(health, 3)
    clock.now += 5.0
    assert health.admit()
    assert not health.admit()
    health.succeeded()
    assert health.standing() is Standing.SOUND
    assert health.admit()


def test_a_failed_probe_doubles_the_suspension_up_to_the_longest(health: Health, clock: Clock) -> None:
    fail(health, 3)
    waits = []
    for _ in range(9):
        waits.append(health.wait())
        clock.now += health.wait()
        assert health.admit()
        health.failed()
    assert waits == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0]


def test_a_probe_that_was_given_up_may_be_repeated(health: Health, clock: Clock) -> None:
    fail(health, 3)
    clock.now += 5.0
    assert health.admit()
    health.released()
    assert health.admit()


def test_retry_after_is_obeyed_to_the_second(health: Health, clock: Clock) -> None:
    health.failed(retry_after=30.0)
    assert (health.standing(), health.wait()) == (Standing.SUSPENDED, 30.0)
    clock.now += 29.9
    assert not health.admit()
    clock.now += 0.1
    assert health.admit()


def test_a_longer_wait_is_never_cut_short(health: Health) -> None:
    health.failed(retry_after=60.0)
    health.failed(retry_after=10.0)
    assert health.wait() == 60.0
    health.failed(retry_after=1e12)
    assert health.wait() == HealthSettings().longest_retry_after


def test_it_can_ask_for_rest_without_having_failed(health: Health, clock: Clock) -> None:
    health.succeeded()
    health.rest(10.0)
    assert (health.admit(), health.share()) == (False, 0.0)
    clock.now += 10.0
    assert health.admit()
    health.succeeded()
    assert health.standing() is Standing.SOUND


def test_ill_health_is_a_penalty_and_credibility_a_boost(health: Health) -> None:
    assert health.adjustment(0.15) == 0.15
    fail(health, 2)
    assert health.adjustment(0.15) == pytest.approx(-0.35)
    fail(health, 1_000)
    assert -1.0 <= health.adjustment(0.0) < -0.9
