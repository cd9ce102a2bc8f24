"""Who is let in, who waits and who is refused; and that no place is ever lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.admission import Gate
from services.runtime.deadline import Deadline
from services.runtime.errors import Overloaded
from tests.gateway.clocks import HandClock
from tests.support import TABLE

ROW = replace(
    TABLE.protection.limit, minimum=2, initial=2, maximum=2, queue=3, wait_ms=60_000, wait_share=0.5, window=1_000
)


class Request:
    """A request that works until it is told to end."""

    def __init__(self, gate: Gate, deadline: Deadline | None = None) -> None:
        self._gate = gate
        self._deadline = deadline or Deadline.after(1000.0)
        self.done = asyncio.Event()
        self.inside = asyncio.Event()
        self.task = asyncio.ensure_future(self._work())

    async def _work(self) -> None:
        async with self._gate.visit(self._deadline):
            self.inside.set()
            await self.done.wait()

    async def end(self) -> None:
        self.done.set()
        await self.task


async def settle() -> None:
    """Lets everything run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def full(gate: Gate) -> list[Request]:
    requests = [Request(gate) for _ in range(2)]
    for request in requests:
        await request.inside.wait()
    return requests


async def test_as_many_as_the_limit_are_let_in_and_the_next_waits_for_a_place() -> None:
    gate = Gate(ROW)
    first, second = await full(gate)
    third = Request(gate)
    await settle()
    assert gate.in_flight == 2
    assert not third.inside.is_set()
    assert gate.busy() == 1.0
    await first.end()
    await third.inside.wait()
    assert gate.in_flight == 2
    await asyncio.gather(second.end(), third.end())
    assert (gate.in_flight, gate.busy()) == (0, 0.0)


async def test_places_are_given_in_turn() -> None:
    gate = Gate(ROW)
    first, second = await full(gate)
    waiting = [Request(gate) for _ in range(3)]
    await settle()
    await first.end()
    await settle()
    assert [request.inside.is_set() for request in waiting] == [True, False, False]
    await second.end()
    for request in waiting:
        await request.inside.wait()
        await request.end()


async def test_beyond_the_queue_a_request_is_refused_with_a_hint() -> None:
    clock = HandClock()
    gate = Gate(ROW, clock)
    first, second = await full(gate)
    clock.pass_(0.4)
    await first.end()
    requests = [Request(gate) for _ in range(4)]
    await settle()
    with pytest.raises(Overloaded, match="2 requests at work, 3 waiting") as refused:
        async with gate.visit(Deadline.after(1000.0)):
            pass
    # Four turns of 0.4 s on two places.
    assert refused.value.retry_after == pytest.approx(0.8)
    await asyncio.gather(second.end(), *(request.end() for request in requests))
    assert gate.in_flight == 0


async def test_a_request_that_the_queue_would_make_late_is_refused_at_once() -> None:
    clock = HandClock()
    gate = Gate(ROW, clock)
    first, second = await full(gate)
    clock.pass_(1.0)
    await first.end()
    third = Request(gate)
    await third.inside.wait()
    # Half a second until a place is free, of which half of 0.9 s is less; and a second to serve.
    with pytest.raises(Overloaded):
        async with gate.visit(Deadline.after(0.9, clock)):
            pass
    patient = Request(gate, Deadline.after(10.0, clock))
    await settle()
    assert not patient.task.done()
    await asyncio.gather(second.end(), third.end(), patient.end())


async def test_a_wait_ends_with_its_share_of_the_deadline() -> None:
    gate = Gate(ROW)
    requests = await full(gate)
    with pytest.raises(Overloaded):
        async with gate.visit(Deadline.after(0.02)):
            pass
    assert gate.busy() == 1.0
    for request in requests:
        await request.end()
    assert (gate.in_flight, gate.busy()) == (0, 0.0)


async def test_a_request_that_gives_up_waiting_leaves_the_queue() -> None:
    gate = Gate(ROW)
    first, second = await full(gate)
    third, fourth = Request(gate), Request(gate)
    await settle()
    third.task.cancel()
    await settle()
    await first.end()
    await fourth.inside.wait()
    await asyncio.gather(second.end(), fourth.end())
    assert gate.in_flight == 0


async def test_a_place_given_to_a_request_that_leaves_at_that_moment_goes_to_the_next() -> None:
    gate = Gate(ROW)
    first, second = await full(gate)
    third, fourth = Request(gate), Request(gate)
    await settle()
    first.done.set()
    # The first leaves and calls the third; before the third can run, it is cancelled.
    await asyncio.sleep(0)
    third.task.cancel()
    await fourth.inside.wait()
    await asyncio.gather(second.end(), fourth.end())
    assert third.task.cancelled()
    assert gate.in_flight == 0


async def test_a_request_that_fails_gives_its_place_back() -> None:
    gate = Gate(ROW)
    with pytest.raises(ValueError):
        async with gate.visit(Deadline.after(1.0)):
            raise ValueError
    assert gate.in_flight == 0


async def test_the_limit_learns_a_requests_own_time_only() -> None:
    clock = HandClock()
    gate = Gate(replace(ROW, window=1), clock)
    async with gate.visit(Deadline.after(10.0)) as visit:
        clock.pass_(0.5)
        visit.own = 0.02
    assert gate.limit.least == pytest.approx(0.02)
    async with gate.visit(Deadline.after(10.0)):
        clock.pass_(0.001)
    assert gate.limit.least == pytest.approx(0.02)


async def test_a_request_that_waited_too_long_before_it_came_is_refused_though_there_is_room() -> None:
    gate = Gate(replace(ROW, initial=8, maximum=8, wait_share=0.25, wait_ms=1000))
    waited = [0.0]
    gate.delayed = lambda: waited[0]
    requests = [Request(gate) for _ in range(ROW.minimum)]
    await settle()
    for waited[0], left in ((0.2, 0.8), (0.3, 4.7)):
        async with gate.visit(Deadline.after(left)):
            assert gate.in_flight == 3
    for waited[0], left in ((0.3, 0.7), (1.1, 60.0)):
        with pytest.raises(Overloaded) as refused:
            await gate.enter(Deadline.after(left))
        assert refused.value.retry_after == waited[0]
    for request in requests:
        await request.end()
    assert gate.in_flight == 0


async def test_a_gateway_that_is_hardly_at_work_refuses_nobody_for_having_waited() -> None:
    gate = Gate(replace(ROW, initial=8, maximum=8, wait_share=0.25, wait_ms=1000))
    gate.delayed = lambda: 5.0
    async with gate.visit(Deadline.after(0.1)):
        assert gate.in_flight == 1


async def test_whoever_looks_is_told_whether_coming_in_would_be_refused() -> None:
    gate = Gate(ROW)
    assert not gate.crowded()
    requests = await full(gate)
    assert gate.crowded()
    assert gate.look(Deadline.after(1000.0)) == pytest.approx(60.0)
    waiting = [Request(gate) for _ in range(ROW.queue)]
    await settle()
    with pytest.raises(Overloaded):
        gate.look(Deadline.after(1000.0))
    for request in (*requests, *waiting):
        await request.end()
    assert gate.in_flight == 0
