"""How long a search waits before this process sees it, measured by calling itself.

gRPC hands a process the calls of a method one at a time and in order. When the loop is busy they queue where Python
cannot see them, and reach a handler with most of their deadline gone and nothing to tell so.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import grpc

from services.runtime.clients import Trust, open_channel
from services.runtime.deadline import Clock
from services.runtime.served import Handler

SEARCH = "/lanemesh.v1.SearchService/Search"
KEY = "lanemesh-echo"


class Echo:
    """Calls out every so often and times how soon it hears itself."""

    def __init__(self, call: Callable[[], Awaitable[None]], every: float, clock: Clock = time.monotonic) -> None:
        self._call = call
        self._every = every
        self._clock = clock
        self._last = self._before = 0.0
        self._called: float | None = None
        self._task: asyncio.Task[None] | None = None

    def delay(self) -> float:
        """Seconds that a call which arrives now has waited: what two calls on end waited, the one still out included.

        One call that waits alone met an instant in which the machine was busy; a queue that stands makes all wait.
        """
        standing = min(self._before, self._last)
        return standing if self._called is None else max(standing, min(self._last, self._clock() - self._called))

    async def once(self) -> None:
        """Calls once."""
        self._called = called = self._clock()
        try:
            await self._call()
        finally:
            self._before, self._last, self._called = self._last, self._clock() - called, None

    def start(self) -> None:
        """Calls from now on, in the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Calls no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await self.once()
            await asyncio.sleep(self._every)


class Wall(grpc.aio.ServerInterceptor):
    """Throws this process's own calls back before anything else sees them; nobody else knows the word."""

    def __init__(self) -> None:
        self.word = secrets.token_hex(16)
        self._handler: Handler = grpc.unary_unary_rpc_method_handler(_back)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """The handler that echoes, or the method's own."""
        for key, value in handler_call_details.invocation_metadata or ():
            if key == KEY and value == self.word:
                return self._handler
        return await continuation(handler_call_details)


class Shout:
    """A search of this process's own server, once it listens; that it ends is what counts, not how."""

    def __init__(self, own_address: Callable[[], str], word: str, trust: Trust | None = None) -> None:
        self._trust = trust
        self._own_address = own_address
        self._metadata = ((KEY, word),)
        self._channel: grpc.aio.Channel | None = None

    async def __call__(self) -> None:
        if not (address := self._own_address()):
            return
        if self._channel is None:
            self._channel = open_channel(address, trust=self._trust)
        search: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(SEARCH)
        # A call that fails has been waiting all the same.
        with suppress(grpc.aio.AioRpcError):
            await search(b"", metadata=self._metadata)

    async def close(self) -> None:
        """Closes the channel."""
        if self._channel is not None:
            await self._channel.close()


async def _back(_request: Any, _context: Any) -> bytes:
    return b""
