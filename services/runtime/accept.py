"""Takes the calls of busy methods off gRPC's hands several at a time.

grpc.aio takes the calls of a method one by one and goes four times round the event loop for each. In a busy process
they pile up where nobody sees them, though there would be room for them, until gRPC drops some and the rest come late.
These are parts of grpc.aio that it does not promise to keep; without them it takes the calls as it always did.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import grpc
from grpc._cython import cygrpc

log = logging.getLogger(__name__)

# Calls of one method that are taken at once.
AT_ONCE = 64
_NEEDED = ("_MethodResolver", "_handle_rpc", "_schedule_rpc_coro", "_RequestCallError")


class Acceptors:
    """Takers of calls beside grpc.aio's own, for methods known by their full names."""

    def __init__(
        self,
        server: grpc.aio.Server,
        methods: Mapping[str, Any],
        interceptors: Sequence[grpc.aio.ServerInterceptor],
        most: int,
    ) -> None:
        self._core = getattr(server, "_server", None)
        self._methods = dict(methods)
        self._interceptors = tuple(interceptors)
        self._most = most
        self._calls: set[asyncio.Task[None]] = set()
        self._takers: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Takes calls from now on, in the running loop; the server has been started."""
        parts_are_there = all(hasattr(cygrpc, name) for name in _NEEDED)
        if not parts_are_there or not hasattr(self._core, "_request_registered_call"):
            log.warning("this version of grpc.aio takes calls one at a time")
            return
        resolver = cygrpc._MethodResolver([], self._methods)
        loop = asyncio.get_running_loop()
        self._takers = [
            loop.create_task(self._take(method, resolver, loop)) for method in self._methods for _ in range(AT_ONCE)
        ]

    async def stop(self) -> None:
        """The server has been stopped: nothing is taken any more."""
        for taker in self._takers:
            taker.cancel()
        await asyncio.gather(*self._takers, return_exceptions=True)

    async def _take(self, method: str, resolver: Any, loop: asyncio.AbstractEventLoop) -> None:
        name = method.encode()
        while True:
            try:
                state = await self._core._request_registered_call(name)  # type: ignore[union-attr]
            except cygrpc._RequestCallError:
                # What gRPC says when the server stops.
                return
            too_many = len(self._calls) >= self._most
            call = cygrpc._handle_rpc(method, resolver, self._interceptors, state, loop, too_many)
            task = loop.create_task(cygrpc._schedule_rpc_coro(call, state, loop, method))
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)
