"""The table of the HTTP client's errors is whole, and no text of theirs gets through it."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import client_exceptions

from services.model.errors import OUTAGES, REFUSALS, TRANSLATION, of_status, translate
from services.runtime.errors import STATUS, DeadlinePassed, Overloaded, Refused, Unavailable

FOREIGN = [
    kind
    for kind in vars(client_exceptions).values()
    if isinstance(kind, type) and issubclass(kind, aiohttp.ClientError)
]


@pytest.mark.parametrize("kind", [*FOREIGN, asyncio.TimeoutError, ConnectionResetError, OSError])
def test_every_error_of_the_client_is_translated(kind: type[Exception]) -> None:
    error = kind.__new__(kind)
    translated = translate(error)
    assert type(translated) in STATUS
    assert translated.message in {message for _, message in TRANSLATION.values()}
    assert isinstance(translated, DeadlinePassed) == issubclass(kind, TimeoutError)


def test_every_status_is_an_error() -> None:
    for status in range(201, 600):
        error = of_status(status, "")
        expected = Overloaded if status == 429 else Unavailable if status >= 500 or status in OUTAGES else Refused
        assert type(error) is expected
        assert str(status) in error.message or status in {429, *REFUSALS, *OUTAGES}


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("", None), ("soon", None), ("-1", None), ("²", None)])
def test_retry_after(header: str, seconds: float | None) -> None:
    error = of_status(429, header)
    assert isinstance(error, Overloaded)
    assert error.retry_after == seconds
