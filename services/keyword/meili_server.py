"""A Meilisearch server through its blocking client: bounded threads, time-outs from the deadline, tasks awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from meilisearch import Client
from meilisearch.models.task import Task, TaskInfo

from services.keyword.meili_errors import failure_of, translated
from services.runtime import deadline
from services.runtime.deadline import Deadline
from services.runtime.errors import DeadlinePassed

Result = TypeVar("Result")
Work = Callable[[Client], Result]

_UNDER_WAY = ("enqueued", "processing")


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server is and how long to wait for it, in seconds."""

    url: str
    key: str | None
    # One request where no deadline is nearer, one task from its beginning, and between two looks at a task.
    call_limit: float
    task_limit: float
    poll: float


class MeiliServer:
    """Runs work on a client of its own for each call; at most `threads` calls at once."""

    def __init__(self, access: Access, threads: int) -> None:
        self._access = access
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="meilisearch")

    async def run(self, work: Work[Result]) -> Result:
        """The result of `work`; raises services.runtime.errors."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(self._call, work, deadline.current()))

    async def finish(self, enqueue: Work[TaskInfo]) -> Task:
        """Enqueues a task and returns when it has succeeded; raises why it has not."""
        uid = (await self.run(enqueue)).task_uid
        try:
            async with asyncio.timeout(self._access.task_limit):
                task = await self._ended(uid)
        except TimeoutError:
            raise DeadlinePassed(f"Meilisearch did not finish the task {uid} in time") from None
        if task.status != "succeeded":
            raise failure_of(task)
        return task

    async def close(self) -> None:
        """Waits for running calls; those that have not begun never do."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)

    async def _ended(self, uid: int) -> Task:
        while True:
            task = await self.run(lambda client: client.get_task(uid))
            if task.status not in _UNDER_WAY:
                return task
            await asyncio.sleep(self._access.poll)

    def _call(self, work: Work[Result], until: Deadline | None) -> Result:
        # Waiting for a thread has spent time as well.
        left = self._access.call_limit if until is None else min(self._access.call_limit, until.require())
        # A client keeps its time-out and the headers of its last request, so that none can be shared between threads.
        client = Client(self._access.url, self._access.key, timeout=left)  # type: ignore[arg-type]  # requests takes it
        with translated():
            return work(client)
