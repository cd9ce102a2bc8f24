"""When a failing model is left alone, and when it is asked again."""

from __future__ import annotations

import pytest

from services.model.rest import LONGEST, Rest
from services.runtime.errors import Overloaded, Unavailable


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_failures_in_a_row_begin_a_rest_and_success_clears_them() -> None:
    clock = Clock()
    rest = Rest(2, 5.0, clock)
    rest.failed(Unavailable("x"))
    rest.succeeded()
    rest.failed(Unavailable("x"))
    rest.require()
    rest.failed(Unavailable("x"))
    with pytest.raises(Unavailable):
        rest.require()
    clock.now += 5.0
    rest.require()


def test_one_failure_after_the_rest_begins_it_again() -> None:
    clock = Clock()
    rest = Rest(2, 5.0, clock)
    for _ in range(2):
        rest.failed(Unavailable("x"))
    clock.now += 6.0
    rest.require()
    rest.failed(Unavailable("x"))
    with pytest.raises(Unavailable):
        rest.require()


def test_a_wait_that_is_asked_for_is_kept_within_reason() -> None:
    clock = Clock()
    rest = Rest(10, 5.0, clock)
    rest.failed(Overloaded("x", retry_after=1e9))
    clock.now += LONGEST - 1
    with pytest.raises(Unavailable):
        rest.require()
    clock.now += 1
    rest.require()
