"""An OpenAI-compatible endpoint on a free port, which answers as a test tells it to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

DIMENSION = 4
Answer = Callable[[dict[str, Any]], web.StreamResponse]


def vectors(body: dict[str, Any]) -> web.Response:
    """A sound answer, last text first: each vector points at the length of its text."""
    data = [
        {"object": "embedding", "index": index, "embedding": [float(len(text)), 3.0, 0.0, 0.0]}
        for index, text in enumerate(body["input"])
    ]
    return web.json_response({"object": "list", "data": data[::-1], "model": body["model"]})


@dataclass
class Endpoint:
    """The answers still to be given, the last of which stays; and the requests that came."""

    answers: list[Answer] = field(default_factory=lambda: [vectors])
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    hangs: bool = False
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.headers.append(dict(request.headers))
        if self.hangs:
            await asyncio.Event().wait()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(self.bodies[-1])


@asynccontextmanager
async def serving() -> AsyncIterator[Endpoint]:
    endpoint = Endpoint()
    application = web.Application()
    application.router.add_post("/v1/embeddings", endpoint.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    endpoint.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield endpoint
    finally:
        await runner.cleanup()
