"""While the gateway is crowded a search is looked at before anything else: turned away with a hint, or let go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from gateway.admission import Gate
from gateway.doorman import Doorman
from gateway.echo import KEY
from services.runtime.accept import Refusal
from services.runtime.boundary import Context
from services.runtime.deadline import Deadline
from services.runtime.errors import DETAILS_KEY
from services.runtime.served import RPCS
from tests.gateway.clocks import HandClock
from tests.support import TABLE

ROW = replace(
    TABLE.protection.limit, minimum=1, initial=1, maximum=1, queue=1, wait_ms=60_000, wait_share=0.5, window=1_000
)


class Call:
    """A call that has just come."""

    def __init__(self, left: float | None, *metadata: tuple[str, str]) -> None:
        self._left = left
        self._metadata = metadata

    def time_remaining(self) -> float | None:
        return self._left

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self._metadata


def told(gate: Gate, call: Call) -> Refusal | None:
    return Doorman(gate, 5_000.0)(cast(Context, call))


@asynccontextmanager
async def crowd(gate: Gate, waiting: int) -> AsyncIterator[None]:
    """One request inside, so many in the queue."""

    async def wait() -> None:
        async with gate.visit(Deadline.after(1000.0)):
            pass

    async with gate.visit(Deadline.after(1000.0)):
        tasks = [asyncio.ensure_future(wait()) for _ in range(waiting)]
        await asyncio.sleep(0)
        yield
    await asyncio.gather(*tasks)


def counted() -> float:
    value: float = RPCS.of("SearchService/Search", "RESOURCE_EXHAUSTED").value
    return value


def hint(refusal: Refusal) -> float:
    """Seconds after which the caller may come again."""
    ((key, value),) = refusal[2]
    assert key == DETAILS_KEY
    status = status_pb2.Status.FromString(value)
    retry: Any = error_details_pb2.RetryInfo()
    assert any(detail.Unpack(retry) for detail in status.details)
    return float(retry.retry_delay.ToMilliseconds()) / 1000


async def test_an_empty_gateway_turns_nobody_away() -> None:
    assert told(Gate(ROW), Call(0.001)) is None


async def test_a_full_gateway_turns_away_with_a_hint_and_counts_it() -> None:
    clock = HandClock()
    gate, before = Gate(ROW, clock), counted()
    async with gate.visit(Deadline.after(1000.0)):
        clock.pass_(0.4)
    async with crowd(gate, waiting=1):
        refusal = told(gate, Call(500.0))
    assert refusal is not None
    assert refusal[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
    # Two turns of 0.4 s, rounded up to the next hundredth.
    assert hint(refusal) == pytest.approx(0.81, abs=0.011)
    assert counted() == before + 1


@pytest.mark.parametrize("left", [30.0, None])
async def test_while_there_is_room_in_the_queue_a_search_goes_on(left: float | None) -> None:
    gate = Gate(ROW)
    async with crowd(gate, waiting=0):
        assert told(gate, Call(left)) is None


async def test_a_search_whose_deadline_the_queue_would_miss_is_turned_away() -> None:
    clock = HandClock()
    gate = Gate(ROW, clock)
    async with gate.visit(Deadline.after(1000.0)):
        clock.pass_(10.0)
    async with crowd(gate, waiting=0):
        assert told(gate, Call(100.0)) is None
        assert told(gate, Call(15.0)) is not None
        # Without a deadline it has at most what the table grants.
        assert told(gate, Call(None)) is not None


async def test_the_processs_own_calls_are_not_turned_away_and_not_counted() -> None:
    gate, before = Gate(ROW), counted()
    async with crowd(gate, waiting=1):
        assert told(gate, Call(30.0, (KEY, "word"))) is None
    assert counted() == before
