"""The local lane: the project's prose and the caller's recent context, answered from the files as they are now."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.local.library import Library
from services.local.refresh import SharedRefresh
from services.local.report import report
from services.local.search import outside, search
from services.runtime import deadline, telemetry
from services.runtime.errors import StartupError, Unavailable
from services.runtime.settings import load, setting
from services.runtime.spans import engine_name

# One thread refreshes, the others rank.
THREADS = 4
# Of the time a query has, so much may pass in looking at the files; ranking them needs the rest.
LOOKING_SHARE = 0.7
MAX_PROJECT = 128


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Where the project is and how much of it is read."""

    root: Path = setting("LANEMESH_PROJECT_ROOT", Path())
    max_files: int = setting("LANEMESH_LOCAL_MAX_FILES", 2_000, low=1, high=100_000)
    max_file_bytes: int = setting("LANEMESH_LOCAL_MAX_FILE_BYTES", 1 << 20, low=1, high=1 << 26)
    max_total_bytes: int = setting("LANEMESH_LOCAL_MAX_TOTAL_BYTES", 1 << 26, low=1, high=1 << 32)


class LocalLane:
    """Searches one project. Every query looks at the files first; only those that changed are read again."""

    def __init__(self, settings: LocalSettings) -> None:
        self._root = settings.root.absolute()
        self._project = self._root.resolve().name[:MAX_PROJECT]
        self._library = Library(self._root, settings.max_files, settings.max_file_bytes, settings.max_total_bytes)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="local")
        self._closing = threading.Event()
        self._refresh = SharedRefresh(self._look)

    def warm(self) -> None:
        """Begins to read the files, so that the first query finds them read."""
        self._refresh.begin()

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """Fills `reply` with the best sections; PARTIAL when the files could not all be looked at in time."""
        reply.engine = "files"
        if reason := outside(request.filters, self._project):
            reply.reason, reply.message = "OUT_OF_SCOPE", reason
            return
        current = deadline.current()
        limit = current.soft() if current else None
        with telemetry.span(engine_name("refresh"), "client", engine=reply.engine):
            fresh = await self._refresh.fresh(limit.remaining() * LOOKING_SHARE if limit else None)
        view = self._library.view()
        loop = asyncio.get_running_loop()
        with telemetry.span(engine_name("search"), "client", engine=reply.engine):
            outcome = await loop.run_in_executor(
                self._threads, search, request, view.files, self._project, limit.passed if limit else _never
            )
        reply.evidence.extend(outcome.evidence)
        reply.total_found = outcome.total
        report(reply, outcome, view, fresh)

    async def check(self) -> None:
        """Raises Unavailable when the root can no longer be listed."""
        await asyncio.get_running_loop().run_in_executor(self._threads, _require_listing, self._root)

    async def close(self) -> None:
        """Ends a refresh that runs and gives the threads back."""
        self._closing.set()
        await self._refresh.settle()
        self._threads.shutdown()

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._threads, self._library.refresh, self._closing.is_set)


async def open_lane(environment: Mapping[str, str]) -> LocalLane:
    """The lane for the project that the environment names; StartupError when there is none."""
    settings = load(LocalSettings, environment)
    try:
        await asyncio.to_thread(_require_listing, settings.root)
    except Unavailable as error:
        raise StartupError(f"LANEMESH_PROJECT_ROOT={str(settings.root)!r}: expected a readable directory") from error
    lane = LocalLane(settings)
    lane.warm()
    return lane


def _never() -> bool:
    return False


def _require_listing(root: Path) -> None:
    try:
        next(root.iterdir(), None)
    except OSError as error:
        raise Unavailable("the project root cannot be read") from error
