"""One refresh at a time, shared by every query that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

Work = Callable[[], Coroutine[Any, Any, None]]


class SharedRefresh:
    """A query needs a refresh that began after it was asked; those who ask while one runs share the next."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._running: asyncio.Task[None] | None = None
        self._queued: asyncio.Task[None] | None = None

    def begin(self) -> asyncio.Task[None]:
        """The refresh that a query asked now may rely on, started or queued."""
        if self._queued:
            return self._queued
        if self._running and not self._running.done():
            self._queued = _watched(self._after(self._running))
            return self._queued
        self._running = _watched(self._work())
        return self._running

    async def fresh(self, seconds: float | None) -> bool:
        """Waits at most so long; whether the refresh was done by then. The refresh goes on without the query."""
        if seconds is not None and seconds <= 0:
            return False
        done, _ = await asyncio.wait({self.begin()}, timeout=seconds)
        for task in done:
            task.result()
        return bool(done)

    async def settle(self) -> None:
        """Waits until nothing runs."""
        while tasks := {task for task in (self._running, self._queued) if task and not task.done()}:
            await asyncio.wait(tasks)

    async def _after(self, running: asyncio.Task[None]) -> None:
        await asyncio.wait({running})
        self._running, self._queued = self._queued, None
        await self._work()


def _watched(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task whose failure is not reported as forgotten when every query that shared it has gone."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task
