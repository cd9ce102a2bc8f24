"""The standard health service. Readiness asks the process's own check; liveness only that the loop still turns."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from services.runtime.deadline import Clock

Check = Callable[[], Awaitable[None]]
Context = grpc.aio.ServicerContext[health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse]
LIVENESS = "liveness"

_SERVING = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)
_NOT_SERVING = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.NOT_SERVING)
_UNKNOWN = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)

log = logging.getLogger(__name__)


class Health(health_pb2_grpc.HealthServicer):
    """Answers for the process as a whole (the empty name), for each of its services, and for `liveness`."""

    def __init__(
        self,
        check: Check,
        services: Iterable[str],
        *,
        time_out: float = 1.0,
        time_to_live: float = 1.0,
        clock: Clock = time.monotonic,
    ) -> None:
        self._check = check
        self._services = {"", *services}
        self._time_out = time_out
        self._time_to_live = time_to_live
        self._clock = clock
        self._ready = False
        self._checked_at = float("-inf")
        self._draining = asyncio.Event()
        self._lock = asyncio.Lock()

    def drain(self) -> None:
        """From now on the process is not ready, whatever its check says."""
        self._draining.set()

    async def ready(self) -> bool:
        """Whether the check passed, asking it again when the last answer is too old."""
        if self._draining.is_set():
            return False
        async with self._lock:
            if self._clock() - self._checked_at >= self._time_to_live:
                self._ready = await self._ask()
                self._checked_at = self._clock()
        return self._ready and not self._draining.is_set()

    async def _ask(self) -> bool:
        try:
            async with asyncio.timeout(self._time_out):
                await self._check()
        except Exception as error:  # noqa: BLE001  whatever is wrong, the answer is: not ready
            if self._ready:
                log.warning("not ready: %s", error)
            return False
        return True

    async def _status(self, service: str) -> health_pb2.HealthCheckResponse:
        if service == LIVENESS:
            return _SERVING
        if service not in self._services:
            return _UNKNOWN
        return _SERVING if await self.ready() else _NOT_SERVING

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> health_pb2.HealthCheckResponse:
        """Answers once; an unknown service is NOT_FOUND."""
        status = await self._status(request.service)
        if status is _UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"service: unknown {request.service!r}")
        return status

    async def Watch(
        self, request: health_pb2.HealthCheckRequest, _context: Context
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Answers at once and again at every change, until the process drains or the watcher leaves."""
        last = None
        while True:
            # Asked before the status, so that the last one a watcher hears is the one of the drain.
            draining = self._draining.is_set()
            status = await self._status(request.service)
            if status is not last:
                yield status
                last = status
            if draining:
                return
            try:
                async with asyncio.timeout(self._time_to_live):
                    await self._draining.wait()
            except TimeoutError:
                continue
