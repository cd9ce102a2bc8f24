"""The tables from foreign errors and statuses to the mesh's are whole, and repeat nothing of what they translate."""

from __future__ import annotations

from datetime import UTC, datetime

import aiohttp
import pytest
from lanemesh.v1 import lane_pb2

from services.providers.errors import TRANSLATION, check_status, outcome, read_retry_after, translate
from services.runtime.errors import (
    STATUS,
    BadReply,
    DeadlinePassed,
    LanemeshError,
    Overloaded,
    Refused,
    Unauthenticated,
    Unavailable,
)

NOW = datetime(2026, 11, 18, 12, 0, 0, tzinfo=UTC)


def raised(kind: type[BaseException]) -> set[type[BaseException]]:
    return {kind}.union(*(raised(child) for child in kind.__subclasses__()))


def test_every_error_of_the_client_has_a_row_of_its_family() -> None:
    for kind in raised(aiohttp.ClientError):
        assert issubclass(kind, tuple(TRANSLATION)), kind
    assert {kind for kind, _ in TRANSLATION.values()} <= set(STATUS)


def test_no_row_is_hidden_by_one_above_it() -> None:
    rows = list(TRANSLATION)
    for place, kind in enumerate(rows):
        assert not any(issubclass(kind, above) for above in rows[:place]), kind


def test_what_a_foreign_error_says_stays_behind() -> None:
    error = translate(aiohttp.InvalidURL("https://api.example/?api_key=hunter2"))
    assert isinstance(error, Refused)
    assert "hunter2" not in f"{error} {error!r}"


@pytest.mark.parametrize(
    ("status", "retry_after", "error"),
    [
        (429, "7", Overloaded),
        (429, None, Overloaded),
        (503, "7", Overloaded),
        (503, None, Unavailable),
        (500, None, Unavailable),
        (401, None, Unauthenticated),
        (402, None, Unauthenticated),
        (403, None, Unauthenticated),
        (408, None, DeadlinePassed),
        (504, None, DeadlinePassed),
        (404, None, Refused),
        (304, None, Refused),
    ],
)
def test_statuses(status: int, retry_after: str | None, error: type[LanemeshError]) -> None:
    with pytest.raises(error):
        check_status(status, retry_after)
    check_status(200, None)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Wed, 18 Nov 2026 12:01:30 GMT", 90.0),
        ("Wed, 18 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("٣", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value, NOW) == seconds


def test_outcomes() -> None:
    assert outcome(DeadlinePassed("x")) == lane_pb2.ATTEMPT_OUTCOME_TIMEOUT
    assert outcome(Overloaded("x")) == lane_pb2.ATTEMPT_OUTCOME_RATE_LIMITED
    assert outcome(Unauthenticated("x")) == lane_pb2.ATTEMPT_OUTCOME_UNAUTHORIZED
    for kind in (BadReply, Refused, Unavailable):
        assert outcome(kind("x")) == lane_pb2.ATTEMPT_OUTCOME_ERROR
