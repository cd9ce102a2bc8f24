"""The JSON door: the same service over HTTP, with the same validation, deadlines, errors and callers."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from aiohttp import web
from google.protobuf.message import Message
from lanemesh.v1.search_pb2 import (
    ListLanesRequest,
    PlanRequest,
    RefineRequest,
    SearchRequest,
    StreamSearchRequest,
    StreamSearchResponse,
)
from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder

from gateway.httpcall import HTTP_STATUS, Aborted, HttpContext, aborted, error_of, headers_of
from gateway.httptls import client_names, door_context
from gateway.service import Gateway
from services.runtime import telemetry
from services.runtime.boundary import Context
from services.runtime.errors import (
    DeadlinePassed,
    InvalidRequest,
    LanemeshError,
    NotImplementedHere,
    StartupError,
    foreseen,
    translate,
)
from services.runtime.jsonform import to_json
from services.runtime.jsonparse import BODY, from_json
from services.runtime.listening import permit
from services.runtime.served import Method, Served
from services.runtime.server import Security
from services.runtime.settings import setting

log = logging.getLogger(__name__)

EVENT_STREAM = "text/event-stream"
Asked = TypeVar("Asked", bound=Message)
Events = AsyncGenerator[StreamSearchResponse, None]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
# What HTTP itself refuses, in our terms; the HTTP status stays.
_OF_HTTP: dict[int, LanemeshError] = {
    404: NotImplementedHere("there is nothing at this path", reason="NOT_FOUND"),
    405: NotImplementedHere("this path has no such method", reason="METHOD_NOT_ALLOWED"),
    413: InvalidRequest(BODY, "is too large"),
    415: InvalidRequest("Content-Type", "must be application/json"),
}


@dataclass(frozen=True)
class HttpSettings:
    """The JSON door; off unless it is told where to listen."""

    listen: str = setting("LANEMESH_HTTP_LISTEN", "")
    max_body_bytes: int = setting("LANEMESH_HTTP_MAX_BODY_BYTES", 1024 * 1024, low=1024, high=64 * 1024 * 1024)
    body_seconds: float = setting("LANEMESH_HTTP_BODY_SECONDS", 10.0, low=0.01, high=600.0)
    grace_seconds: float = setting("LANEMESH_GRACE_SECONDS", 15.0, low=0.0, high=600.0)
    allow_plaintext: bool = setting("LANEMESH_ALLOW_PLAINTEXT", False)


class Door:
    """Serves the gateway over HTTP."""

    def __init__(
        self,
        gateway: Gateway,
        ready: Callable[[], Awaitable[bool]],
        settings: HttpSettings,
        security: Security | None = None,
    ) -> None:
        permit("LANEMESH_HTTP_LISTEN", settings.listen, secured=bool(security), plaintext=settings.allow_plaintext)
        self._tls = door_context(security) if security else None
        self._gateway = gateway
        self._ready = ready
        self._settings = settings
        self._methods = {name: Method(f"http/{name}") for name in ("Search", "StreamSearch", "Plan", "Refine", "Lanes")}
        app = web.Application(middlewares=[_errors], client_max_size=settings.max_body_bytes)
        app.add_routes(
            [
                web.post("/v1/search", self._search),
                web.post("/v1/plan", self._plan),
                web.post("/v1/refine", self._refine),
                web.get("/v1/lanes", self._lanes),
                web.get("/healthz", self._health),
                web.get("/metrics", self._metrics),
            ]
        )
        # A caller that leaves cancels everything below.
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=settings.grace_seconds
        )

    async def start(self) -> int:
        """Listens; returns the port."""
        host, _, port = self._settings.listen.rpartition(":")
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host.strip("[]") or None, int(port), ssl_context=self._tls).start()
        except (OSError, ValueError, OverflowError) as error:
            await self._runner.cleanup()
            raise StartupError(f"LANEMESH_HTTP_LISTEN={self._settings.listen}: the address cannot be bound") from error
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """No new calls; finishes those it has, within the grace period."""
        await self._runner.cleanup()

    async def _search(self, request: web.Request) -> web.StreamResponse:
        question = await self._read(request, SearchRequest())
        if EVENT_STREAM in request.headers.get("Accept", ""):
            return await self._stream(request, StreamSearchRequest(search=question))
        return await self._answer("Search", self._gateway.Search, question, request)

    async def _plan(self, request: web.Request) -> web.StreamResponse:
        question = PlanRequest(search=await self._read(request, SearchRequest()))
        return await self._answer("Plan", self._gateway.Plan, question, request)

    async def _refine(self, request: web.Request) -> web.StreamResponse:
        return await self._answer("Refine", self._gateway.Refine, await self._read(request, RefineRequest()), request)

    async def _lanes(self, request: web.Request) -> web.StreamResponse:
        return await self._answer("Lanes", self._gateway.ListLanes, ListLanesRequest(), request)

    async def _health(self, _request: web.Request) -> web.Response:
        ready = await self._ready()
        return web.json_response({"status": "ok" if ready else "not ready"}, status=200 if ready else 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        self._gateway.callers.of(HttpContext(request.headers, client_names(request.transport)))
        # A scraper that reads OpenMetrics gets exemplars.
        encode, kind = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(REGISTRY), headers={"Content-Type": kind})

    async def _read(self, request: web.Request, message: Asked) -> Asked:
        # A page of another site may send text without asking; JSON it may not.
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType
        async with asyncio.timeout(self._settings.body_seconds):
            raw = await request.read()
        from_json(raw, message)
        return message

    async def _answer(
        self,
        name: str,
        method: Callable[[Any, Any], Awaitable[Message]],
        question: Message,
        request: web.Request,
    ) -> web.Response:
        context = HttpContext(request.headers, client_names(request.transport))
        with Served(self._methods[name], context):
            async with asyncio.timeout(context.time_remaining()):
                reply = await method(question, context)
            return web.json_response(to_json(reply), headers=_trace())

    def _events(self, question: StreamSearchRequest, context: HttpContext) -> Events:
        return cast(Events, self._gateway.StreamSearch(question, cast(Context, context)))

    async def _stream(self, request: web.Request, question: StreamSearchRequest) -> web.StreamResponse:
        context = HttpContext(request.headers, client_names(request.transport))
        response = web.StreamResponse(headers={"Content-Type": EVENT_STREAM, "Cache-Control": "no-store"})
        with Served(self._methods["StreamSearch"], context):
            response.headers.update(_trace())
            try:
                async with (
                    asyncio.timeout(context.time_remaining()),
                    aclosing(self._events(question, context)) as events,
                ):
                    await _send(request, response, events)
            except Exception as error:
                # Before the first event the error still has a status of its own.
                if not response.prepared:
                    raise
                await response.write(_event("error", error_of(_ended(error))))
        await response.write_eof()
        return response


async def _send(request: web.Request, response: web.StreamResponse, events: Events) -> None:
    async for event in events:
        if not response.prepared:
            await response.prepare(request)
        kind = event.WhichOneof("event") or ""
        await response.write(_event(kind, to_json(getattr(event, kind))))


def _event(kind: str, value: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(value)}\n\n".encode()


def _trace() -> dict[str, str]:
    return dict(telemetry.outgoing())


def _ended(error: Exception) -> Aborted:
    if isinstance(error, Aborted):
        return error
    if isinstance(error, TimeoutError):
        return aborted(DeadlinePassed("the deadline has passed"))
    if not foreseen(error):
        log.error("unexpected error", exc_info=error)
    return aborted(translate(error))


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as refusal:
        told = error_of(aborted(_OF_HTTP.get(refusal.status, LanemeshError(refusal.reason))))
        return web.json_response(told, status=refusal.status)
    except Exception as error:  # noqa: BLE001  the one boundary
        ended = _ended(error)
        body = error_of(ended)
        return web.json_response(body, status=HTTP_STATUS[ended.code], headers=headers_of(body))
