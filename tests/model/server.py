"""A model behind the OpenAI-compatible interface, on loopback, that answers or fails as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Model:
    """What the server answers next, and what it was asked."""

    answer: Answer
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    # Set when a request has arrived, and when its handler was given up.
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    given_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.headers.append(dict(request.headers))
        self.arrived.set()
        try:
            return await self.answer(request)
        except asyncio.CancelledError:
            self.given_up.set()
            raise


def says(content: object, finish_reason: str = "stop") -> Answer:
    """An ordinary completion; anything but a string is sent as JSON inside it."""
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    return sends(json.dumps({"choices": [choice]}).encode())


def sends(body: bytes, status: int = 200, **headers: str) -> Answer:
    """Any body under any status."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=body, status=status, headers=named)

    return answer


async def never(_request: web.Request) -> web.StreamResponse:
    """A model that does not answer while anybody waits."""
    await asyncio.Event().wait()
    raise AssertionError


async def breaks_off(request: web.Request) -> web.StreamResponse:
    """A model that promises more than it sends."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.close()
    return response


@asynccontextmanager
async def model_server(answer: Answer) -> AsyncIterator[Model]:
    """The server on a free port."""
    model = Model(answer)
    application = web.Application()
    application.router.add_post("/v1/chat/completions", model.handle)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    model.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield model
    finally:
        await runner.cleanup()
