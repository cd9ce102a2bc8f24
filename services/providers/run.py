"""One question put to the providers step by step, each step overlapping the one before until enough has come back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil

from lanemesh.v1.evidence_pb2 import Evidence

from services.providers.attempt import Attempt, suspended
from services.providers.http import Client
from services.providers.merge import Keys, by_identity, merge
from services.providers.provider import Question
from services.providers.settings import ProviderSettings
from services.providers.sources import Source, Step, in_order
from services.runtime.deadline import Deadline

Sleep = Callable[[float], Awaitable[None]]

# Of providers asked at once each may fill so many times its share of the results, so that no one fills them all.
GENEROSITY = 2


@dataclass(frozen=True, slots=True)
class Panel:
    """The providers of a lane and the means to ask them, the same for every question."""

    lane: str
    steps: Sequence[Step]
    client: Client
    keys: Keys = by_identity
    sleep: Sleep = asyncio.sleep

    @property
    def settings(self) -> ProviderSettings:
        """Times and limits of the lane's providers."""
        return self.client.settings

    def addresses(self) -> list[str]:
        """Where each provider is asked; answers of other places are other answers."""
        return [f"{source.name}={url}" for source in chain(*self.steps) for url in source.access.urls.values()]


class Run:
    """The attempts at one question. `deadline` is that of the caller who waits longest."""

    def __init__(self, panel: Panel, question: Question, deadline: Deadline | None) -> None:
        self.question = question
        self.deadline = deadline
        self.attempts: list[Attempt] = []
        self._panel = panel
        self._pending = deque(in_order(panel.steps, question))
        self._running: set[asyncio.Future[None]] = set()
        self._newest: set[asyncio.Future[None]] = set()
        loop = asyncio.get_running_loop()
        self._nobody_waits: asyncio.Future[None] = loop.create_future()
        # Done when the newest step has had its time.
        self._hurry: asyncio.Future[None] = loop.create_future()

    def evidence(self) -> list[Evidence]:
        """What has come back, each page once, best first, within the limit."""
        groups = (attempt.evidence for attempt in self.attempts)
        return merge(groups, self._panel.keys)[: self.question.max_results]

    @property
    def found(self) -> int:
        """How many results have come back."""
        return sum(len(attempt.evidence) for attempt in self.attempts)

    @property
    def unfinished(self) -> bool:
        """Whether some attempt still runs."""
        return bool(self._running)

    @property
    def abandoned(self) -> bool:
        """Whether the last caller has left."""
        return self._nobody_waits.done()

    async def answer(self) -> None:
        """Returns when there are enough results, when a step has brought what it has, or when nobody waits."""
        while self._pending or self._running:
            if self._pending and (not self._newest or self._hurry.done()):
                self._start(self._pending.popleft())
                continue
            await self._change()
            if self._complete() or self.abandoned:
                break
        self._hurry.cancel()
        for attempt in self.attempts:
            attempt.late = attempt.slow

    async def finish(self) -> None:
        """Returns when the last attempt has ended."""
        while self._running:
            await self._change()

    async def cancel(self) -> None:
        """Gives up what still runs."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def overdue(self) -> None:
        """Nobody waits any more: nothing new is started, and what still runs is too slow."""
        self._mark_slow()
        if not self.abandoned:
            self._nobody_waits.set_result(None)

    def _start(self, step: Step) -> None:
        self._mark_slow()
        self._hurry.cancel()
        self._hurry = asyncio.ensure_future(self._panel.sleep(self._patience()))
        share = ceil(GENEROSITY * self.question.max_results / len(step))
        question = replace(self.question, max_results=min(self.question.max_results, share))
        self._newest = {task for source in step if (task := self._ask(source, question)) is not None}
        self._running |= self._newest

    def _ask(self, source: Source, question: Question) -> asyncio.Task[None] | None:
        if not source.health.admit():
            self.attempts.append(suspended(source, question, self._panel.lane))
            return None
        attempt = Attempt(source, question)
        self.attempts.append(attempt)
        return asyncio.create_task(attempt.run(self._panel.client, self._panel.lane))

    async def _change(self) -> None:
        """Returns when an attempt has ended, the newest step is too slow to wait for, or nobody waits."""
        signals = {self._hurry} if self._pending else set()
        signals |= set() if self.abandoned else {self._nobody_waits}
        await asyncio.wait(self._running | signals, return_when=asyncio.FIRST_COMPLETED)
        self._running = {task for task in self._running if not task.done()}
        self._newest &= self._running

    def _complete(self) -> bool:
        """Enough results, or some and nothing more to be had from the newest step."""
        return self.found >= self.question.max_results or (self.found > 0 and not self._newest)

    def _patience(self) -> float:
        """Seconds that a step may take before the next one is started beside it."""
        left = self.deadline.remaining() if self.deadline else self._panel.settings.provider_ms / 1000
        return max(left, 0.0) * self._panel.settings.hedge_share

    def _mark_slow(self) -> None:
        for attempt in self.attempts:
            attempt.slow = True
