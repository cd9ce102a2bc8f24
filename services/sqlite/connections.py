"""Blocking SQLite work in a bounded number of threads, stopped when its caller no longer waits."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from services.runtime import deadline
from services.runtime.deadline import Deadline
from services.sqlite.errors import refusing_to_start, translated

Result = TypeVar("Result")
Work = Callable[[sqlite3.Connection], Result]

# SQLite's virtual machine asks whether to go on after this many instructions, some tens of microseconds.
STEPS = 1_000
# Page cache of one connection.
CACHE_KIB = 8_192
# Pages of the write-ahead log, 16 MiB in all, before they are copied into the index: fewer, larger copies.
CHECKPOINT_PAGES = 4_096


def connect(path: Path, lock_wait: float) -> sqlite3.Connection:
    """A connection without implicit transactions, usable from any one thread at a time."""
    connection = sqlite3.connect(path, timeout=lock_wait, isolation_level=None, check_same_thread=False)
    # In WAL mode anything below FULL may lose acknowledged records when the power fails.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    return connection


class Connections:
    """A fixed number of connections with a thread for each. With one connection, work runs one after another."""

    def __init__(self, path: Path, size: int, lock_wait: float, begin: str) -> None:
        self._begin = begin
        self._idle: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        self._all: list[sqlite3.Connection] = []
        with refusing_to_start(path):
            for _ in range(size):
                self._all.append(connect(path, lock_wait))
                self._idle.put(self._all[-1])
        self._threads = ThreadPoolExecutor(size, thread_name_prefix=path.stem)

    async def run(self, work: Work[Result]) -> Result:
        """The result of `work` inside one transaction; DeadlinePassed when the ambient deadline stops it."""
        given_up = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(
                self._threads, partial(self._transact, work, deadline.current(), given_up)
            )
        except asyncio.CancelledError:
            given_up.set()
            raise

    async def close(self) -> None:
        """Waits for running work, then closes every connection."""
        await asyncio.to_thread(self._threads.shutdown)
        for connection in self._all:
            connection.close()

    def _transact(self, work: Work[Result], until: Deadline | None, given_up: threading.Event) -> Result:
        def must_stop() -> bool:
            return given_up.is_set() or (until is not None and until.passed())

        if until is not None:
            until.require()
        connection = self._idle.get()
        try:
            connection.set_progress_handler(must_stop, STEPS)
            with translated():
                return _in_transaction(connection, self._begin, work)
        finally:
            self._idle.put(connection)


def _in_transaction(connection: sqlite3.Connection, begin: str, work: Work[Result]) -> Result:
    try:
        connection.execute(begin)
        result = work(connection)
        connection.execute("COMMIT")
        return result
    finally:
        connection.set_progress_handler(None, 0)
        if connection.in_transaction:
            connection.execute("ROLLBACK")
