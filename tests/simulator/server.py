"""The server: finds each provider's page by name, keeps what was asked, and goes wrong in the way it is told to.

A provider's page is a module of this package with `def answer(request, path)`. Its address is /<provider>; a fault is
chosen by the address /fault/<fault>/<provider>, or for every request by `Simulator.faults[provider]`.
"""

from __future__ import annotations

import asyncio
import importlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.simulator import faults

Answer = Callable[[web.Request, str], web.StreamResponse]


@dataclass
class Asked:
    """One request as it came."""

    provider: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]


@dataclass
class Simulator:
    """A running simulator."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    # What goes wrong, by provider: a name of tests.simulator.faults.
    faults: dict[str, str] = field(default_factory=dict)
    # What a provider answers instead of its page.
    replies: dict[str, Answer] = field(default_factory=dict)
    # A provider with a gate answers when it is set.
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    # Set when a client went away before its gate opened.
    left: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    # Set when a provider was asked for the first time.
    reached: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    def of(self, provider: str) -> list[Asked]:
        """The requests to one provider."""
        return [asked for asked in self.asked if asked.provider == provider]

    def environment(self) -> dict[str, str]:
        """The variables that lead a lane here instead of outside."""
        return {"LANEMESH_SIMULATED_PROVIDERS": self.url, "LANEMESH_PROVIDER_ALLOWED_ADDRESSES": "127.0.0.1/32"}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answers one request."""
        fault, provider, path = _parts(request.path)
        self.asked.append(Asked(provider, path, dict(request.query), dict(request.headers)))
        self.reached[provider].set()
        await self._pass(provider)
        if fault := fault or self.faults.get(provider, ""):
            return await faults.FAULTS[fault](request)
        answer = self.replies.get(provider) or _page(provider)
        return answer(request, path)

    async def _pass(self, provider: str) -> None:
        try:
            if provider in self.gates:
                await self.gates[provider].wait()
        except asyncio.CancelledError:
            self.left[provider].set()
            raise


def _parts(path: str) -> tuple[str, str, str]:
    fault = ""
    if path.startswith("/fault/"):
        _, _, fault, rest = path.split("/", 3)
        path = f"/{rest}"
    provider, slash, rest = path.removeprefix("/").partition("/")
    return fault, provider, slash + rest


def _page(provider: str) -> Answer:
    try:
        answer: Answer = importlib.import_module(f"tests.simulator.{provider}").answer
    except (ModuleNotFoundError, AttributeError):
        return lambda _request, _path: web.json_response({"error": "no such provider"}, status=404)
    return answer


@asynccontextmanager
async def simulating(port: int = 0) -> AsyncIterator[Simulator]:
    """The simulator on loopback, on a free port unless one is given."""
    simulator = Simulator()
    application = web.Application()
    application.router.add_get("/{path:.*}", simulator.handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.0, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    simulator.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield simulator
    finally:
        await runner.cleanup()
