"""Backup calls: a lane slower than it mostly is gets asked at another replica as well, and the first answer counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import grpc

from gateway.quantile import Recent
from services.runtime.clients import Flight
from services.runtime.errors import Unavailable
from services.runtime.protection import HedgeRow
from services.runtime.replicas import Replicas

Response = TypeVar("Response")
# Begins a call over a channel.
Send = Callable[[grpc.aio.Channel], Flight[Response]]
Usable = Callable[[Response], bool]


class Hedge:
    """When a lane's call gets a backup, and whether there may be one more. Pure, no I/O."""

    def __init__(self, row: HedgeRow) -> None:
        self._row = row
        self._recent = Recent(row.samples)
        # Begins empty, so that backups never exceed their share of the calls, not even early on.
        self._tokens = 0.0

    def sent(self) -> None:
        """A first call was sent."""
        self._tokens = min(self._row.burst, self._tokens + self._row.share)

    def took(self, seconds: float) -> None:
        """A first call was answered after so long, or outrun by its backup then."""
        self._recent.add(seconds)

    def delay(self) -> float | None:
        """Seconds after which a call is slow; None while too little is known."""
        if len(self._recent) < self._row.least_samples:
            return None
        return max(self._row.least_ms / 1000, self._recent.quantile(self._row.quantile))

    def take(self) -> bool:
        """Takes the right to one backup call, if there is one."""
        # A thousandth of slack: twenty shares of a twentieth do not add up to one.
        if self._tokens < 0.999:
            return False
        self._tokens -= 1.0
        return True


class HedgedFlight(Generic[Response]):
    """A call under way, as Flight is, that may get one backup over another replica under the same deadline."""

    def __init__(self, replicas: Replicas, send: Send[Response], hedge: Hedge, usable: Usable[Response]) -> None:
        self.ended = 0.0
        self.hedged = False
        # When the backup was sent, on the monotonic clock, and who answered first with something usable: first, backup.
        self.forked = 0.0
        self.winner = "none"
        self._replicas = replicas
        self._send = send
        self._hedge = hedge
        self._usable = usable
        self._channel = replicas.pick()
        self._started = time.monotonic()
        self._first = send(self._channel)
        self._backup: Flight[Response] | None = None
        hedge.sent()
        loop = asyncio.get_running_loop()
        self._forked: asyncio.Future[None] = loop.create_future()
        delay = hedge.delay()
        self._timer = loop.call_later(delay, self._slow) if delay is not None else None
        # It runs by itself, whether or not anybody waits: the first answer must end the other call at once.
        self._outcome = loop.create_task(self._run())
        self._outcome.add_done_callback(_seen)

    async def reply(self) -> Response:
        """The first usable reply; when there is none, what became of the first call."""
        return await self._outcome

    def when_ended(self, told: Callable[[], None]) -> None:
        """Has `told` called once, as soon as awaiting the reply would not have to wait."""
        self._outcome.add_done_callback(lambda _outcome: told())

    def cancel(self) -> None:
        """Gives up whatever is still under way."""
        self._outcome.cancel()
        self._let_go()

    async def _run(self) -> Response:
        first = asyncio.ensure_future(self._first.reply())
        tasks = [first]
        try:
            watched: set[asyncio.Future[Any]] = {first, self._forked}
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if first.done() and isinstance(first.exception(), Unavailable):
                self._fork()
            if self._backup is not None:
                tasks.append(asyncio.ensure_future(self._backup.reply()))
            return await self._race(tasks)
        finally:
            for task in tasks:
                task.cancel()
            self._let_go()

    def _let_go(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._first.cancel()
        if self._backup is not None:
            self._backup.cancel()
        self.ended = self.ended or time.monotonic()

    def _slow(self) -> None:
        if not self._first.ended:
            self._fork()

    def _fork(self) -> None:
        """Sends the backup, if there is another replica and the allowance is not spent."""
        other = self._replicas.another(self._channel)
        if self._backup is None and other is not None and self._hedge.take():
            self._backup = self._send(other)
            self.hedged = True
            self.forked = time.monotonic()
            self._forked.set_result(None)

    async def _race(self, tasks: Sequence[asyncio.Task[Response]]) -> Response:
        pending = set(tasks)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task, flight in zip(tasks, (self._first, self._backup), strict=False):
                if task in done and flight and task.exception() is None and self._usable(task.result()):
                    self.ended = flight.ended
                    self._hedge.took(self.ended - self._started)
                    self.winner = "first" if flight is self._first else "backup"
                    return task.result()
        self.ended = self._first.ended
        return tasks[0].result()


def _seen(outcome: asyncio.Task[Any]) -> None:
    """A call that nobody waits for any more may fail unheard."""
    if not outcome.cancelled():
        outcome.exception()
