"""Takes the calls of busy methods off gRPC's hands many at a time, and turns away cheaply those that are too many.

grpc.aio takes the calls of a method one by one and goes four times round the event loop for each. In a busy process
they pile up where nobody sees them, though there would be room for them, until gRPC drops some and the rest come late.
And it begins two tasks and reads the message before anybody is asked whether the call may come in at all.
These are parts of grpc.aio that it does not promise to keep; without them it takes the calls as it always did.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import grpc
from grpc._cython import cygrpc  # type: ignore[attr-defined]

from services.runtime.boundary import Context

log = logging.getLogger(__name__)

# Calls of one method that are taken at once.
AT_ONCE = 64
_NEEDED = ("_MethodResolver", "_ServicerContext", "_handle_rpc", "_schedule_rpc_coro", "_RequestCallError")
# Status, message and trailing metadata that end a call.
Refusal: TypeAlias = tuple[grpc.StatusCode, str, tuple[tuple[str, bytes], ...]]
# What to tell a call that has just come and may not come in; None: it may.
TurnAway: TypeAlias = Callable[[Context], Refusal | None]


class Acceptors:
    """Takers of calls beside grpc.aio's own, for methods known by their full names."""

    def __init__(
        self,
        server: grpc.aio.Server,
        methods: Mapping[str, Any],
        interceptors: Sequence[grpc.aio.ServerInterceptor],
        most: int,
        turn_away: TurnAway | None = None,
    ) -> None:
        self._core = getattr(server, "_server", None)
        self._methods = dict(methods)
        self._interceptors = tuple(interceptors)
        self._most = most
        self._turn_away = turn_away
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
            if not await self._turned_away(state, loop):
                self._begin(method, resolver, state, loop)
            # The call lives as long as its state, and the server as long as its calls.
            del state

    async def _turned_away(self, state: Any, loop: asyncio.AbstractEventLoop) -> bool:
        if self._turn_away is None:
            return False
        context = cygrpc._ServicerContext(state, None, None, loop)
        refusal = self._turn_away(context)
        if refusal is None:
            return False
        try:
            await context.abort(*refusal)
        except (cygrpc.AbortError, cygrpc.ExecuteBatchError) as ended:
            # Said, or the caller has left. The state holds the error: with its frames they would be a ring.
            ended.__traceback__ = None
        return True

    def _begin(self, method: str, resolver: Any, state: Any, loop: asyncio.AbstractEventLoop) -> None:
        too_many = len(self._calls) >= self._most
        call = cygrpc._handle_rpc(method, resolver, self._interceptors, state, loop, too_many)
        task = loop.create_task(cygrpc._schedule_rpc_coro(call, state, loop, method))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
