"""Identical questions under way share one run. Callers come and go by their own deadlines; the run outlives them."""

from __future__ import annotations

import asyncio

from services.providers.cache import Cache, Entry
from services.providers.run import Run
from services.runtime.deadline import Deadline


class Flight:
    """One run and the callers who wait for it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting = 0

    async def wait(self, deadline: Deadline | None) -> None:
        """Returns when the answer is there; when the last caller leaves before, the run is told."""
        self._waiting += 1
        own = self.run.deadline
        if own is not None and (deadline is None or deadline.at > own.at):
            self.run.deadline = deadline
        try:
            await asyncio.wait((self.answered,))
        finally:
            self._waiting -= 1
            if not self._waiting and not self.answered.done():
                self.run.overdue()


class Flights:
    """The runs under way by the key of their question; what they find goes to the cache."""

    def __init__(self, cache: Cache, background: int) -> None:
        self._cache = cache
        self._background = background
        self._in_background = 0
        self._by_key: dict[str, Flight] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def join(self, key: str) -> Flight | None:
        """The flight that an identical question has begun, unless everybody has left it."""
        flight = self._by_key.get(key)
        return None if flight is None or flight.run.abandoned else flight

    def begin(self, key: str, run: Run) -> Flight:
        """A new flight, which others may join until it has answered."""
        flight = self._by_key[key] = Flight(run)
        task = asyncio.create_task(self._fly(key, flight))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return flight

    async def close(self) -> None:
        """Ends every flight."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _fly(self, key: str, flight: Flight) -> None:
        run = flight.run
        try:
            entry = await self._answer(key, flight)
            await self._share(key, entry)
            if run.unfinished and await self._settle(run):
                await self._share(key, self._store(key, run))
        finally:
            await run.cancel()

    async def _answer(self, key: str, flight: Flight) -> Entry | None:
        try:
            await flight.run.answer()
            # Stored before anybody hears of it, so that whoever asks next finds it.
            return self._store(key, flight.run)
        finally:
            # An abandoned flight may have a successor by now.
            if self._by_key.get(key) is flight:
                del self._by_key[key]
            flight.answered.set_result(None)

    async def _settle(self, run: Run) -> bool:
        """Lets what still runs finish in the background, where there is room for it; whether that brought more."""
        if self._in_background >= self._background:
            return False
        found = run.found
        self._in_background += 1
        try:
            await run.finish()
        finally:
            self._in_background -= 1
        return run.found > found

    def _store(self, key: str, run: Run) -> Entry | None:
        return self._cache.store(key, run.evidence()) if run.found else None

    async def _share(self, key: str, entry: Entry | None) -> None:
        if entry is not None:
            await self._cache.share(key, entry)
