"""The mesh as a Python object: one channel to the gateway, one method per call of SearchService."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeVar, Unpack

import grpc
from lanemesh.v1 import search_pb2, search_pb2_grpc
from lanemesh.v1.search_pb2 import IngestRequest, IngestResponse, SearchRequest, SearchResponse, StreamSearchResponse

from client.request import Constraining, Options, refine_request, search_request
from services.runtime import deadline as deadlines
from services.runtime import telemetry
from services.runtime.certificates import Certificates, Files, identity, of_client
from services.runtime.clients import PORT_BASE, Trust, open_channel, wire_time_out
from services.runtime.deadline import Deadline
from services.runtime.errors import (
    DETAILS_KEY,
    BadReply,
    DeadlinePassed,
    LanemeshError,
    StartupError,
    Unavailable,
    from_status,
)
from services.runtime.listening import host_of, on_loopback
from services.runtime.settings import load, setting
from services.runtime.spans import client_name
from services.runtime.trace import parse

DEFAULT_ADDRESS = f"127.0.0.1:{PORT_BASE}"
# How long to wait for a gateway that applies its own deadline because the caller set none.
PATIENCE = 60.0
# The longest time-out that is sent: gRPC's clock overflows on absurd ones and ends the call at once.
LONGEST = 86_400.0

Limit = Deadline | float | None
Records = AsyncIterable[IngestRequest] | Iterable[IngestRequest]
Request = TypeVar("Request")
Response = TypeVar("Response")


@dataclass(frozen=True)
class ClientSettings:
    """What a client reads."""

    gateway: str = setting("LANEMESH_GATEWAY", DEFAULT_ADDRESS)
    # The name that the gateway's certificate must carry.
    gateway_name: str = setting("LANEMESH_GATEWAY_NAME", "")
    token: str = setting("LANEMESH_TOKEN", "")
    allow_plaintext: bool = setting("LANEMESH_ALLOW_PLAINTEXT", False)


class Mesh:
    """A client of one gateway. A deadline is seconds or a Deadline; the deadline of a call being served also holds."""

    def __init__(self, address: str | None = None, *, token: str | None = None, tls: Files | None = None) -> None:
        settings = load(ClientSettings, os.environ)
        self.address = address or settings.gateway
        self._certificates = Certificates(tls) if tls else of_client(os.environ)
        self._name = settings.gateway_name or _name_of(self.address)
        token = token or settings.token
        if token and not settings.allow_plaintext and not self._certificates and not on_loopback(self.address):
            raise StartupError(
                f"the token would cross the network to {self.address} in plain text: set LANEMESH_TLS_CA, "
                "or LANEMESH_ALLOW_PLAINTEXT=true where something trusted encrypts"
            )
        self._credentials = (("authorization", f"Bearer {token}"),) if token else ()

    async def __aenter__(self) -> Self:
        trust = None
        if self._certificates is not None:
            trust = Trust(self._certificates, self._name)
            self._certificates.start()
        self._channel = open_channel(self.address, trust=trust)
        self._stub = search_pb2_grpc.SearchServiceStub(self._channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()
        if self._certificates is not None:
            await self._certificates.stop()

    async def search(
        self,
        query: SearchRequest | str,
        *,
        deadline: Limit = None,
        traceparent: str | None = None,
        **options: Unpack[Options],
    ) -> SearchResponse:
        """Asks a question and waits for the whole answer."""
        return await self._unary("Search", self._stub.Search, _search(query, options), deadline, traceparent)

    async def stream(
        self,
        query: SearchRequest | str,
        *,
        deadline: Limit = None,
        traceparent: str | None = None,
        **options: Unpack[Options],
    ) -> AsyncIterator[StreamSearchResponse]:
        """Asks a question and yields what happens as it happens; the last event is the whole answer."""
        request = search_pb2.StreamSearchRequest(search=_search(query, options))
        limit = _earliest(deadline)
        with _calling("StreamSearch", traceparent) as calling:
            call = self._stub.StreamSearch(request, timeout=_sent(limit), metadata=self._metadata(calling))
            guard = limit or Deadline.after(PATIENCE)
            try:
                # Each read is guarded by itself: a time-out must never strike in the caller's code between two events.
                while (event := await self._read(call, guard, calling)) is not None:
                    yield event
            finally:
                call.cancel()

    async def plan(
        self,
        query: SearchRequest | str,
        *,
        deadline: Limit = None,
        traceparent: str | None = None,
        **options: Unpack[Options],
    ) -> search_pb2.PlanResponse:
        """Explains what a search would do; nothing runs."""
        request = search_pb2.PlanRequest(search=_search(query, options))
        return await self._unary("Plan", self._stub.Plan, request, deadline, traceparent)

    async def refine(
        self,
        query: search_pb2.RefineRequest | str,
        *,
        mode: str | None = None,
        deadline: Limit = None,
        traceparent: str | None = None,
        **options: Unpack[Constraining],
    ) -> search_pb2.RefineResponse:
        """Asks preflight for advice on a question."""
        request = refine_request(query, mode, **options) if isinstance(query, str) else query
        return await self._unary("Refine", self._stub.Refine, request, deadline, traceparent)

    async def lanes(self, *, deadline: Limit = None, traceparent: str | None = None) -> search_pb2.ListLanesResponse:
        """Lists the configured lanes and how they are."""
        return await self._unary(
            "ListLanes", self._stub.ListLanes, search_pb2.ListLanesRequest(), deadline, traceparent
        )

    async def ingest(
        self, records: Records, *, deadline: Limit = None, traceparent: str | None = None
    ) -> IngestResponse:
        """Stores records in one call; the gateway's flow control slows the sender down."""
        limit = _earliest(deadline)
        with _calling("Ingest", traceparent) as calling:
            call = self._stub.Ingest(timeout=_sent(limit), metadata=self._metadata(calling))
            try:
                with self._translated(calling):
                    async with asyncio.timeout(limit.require() if limit else None):
                        complete = await _send(call, records)
                        reply = _whole(await call)
                if not complete:
                    raise BadReply("the gateway ended the call before it had read every record")
                return reply
            finally:
                call.cancel()

    async def _unary(
        self,
        name: str,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        deadline: Limit,
        traceparent: str | None,
    ) -> Response:
        limit = _earliest(deadline)
        with _calling(name, traceparent) as calling, self._translated(calling):
            async with asyncio.timeout(limit.require() if limit else PATIENCE):
                return _whole(await method(request, timeout=_sent(limit), metadata=self._metadata(calling)))

    async def _read(
        self,
        call: grpc.aio.UnaryStreamCall[search_pb2.StreamSearchRequest, StreamSearchResponse],
        guard: Deadline,
        calling: telemetry.Calling,
    ) -> StreamSearchResponse | None:
        """The next event, None after the last."""
        with self._translated(calling):
            async with asyncio.timeout(guard.remaining()):
                event: Any = await call.read()
        return None if event is grpc.aio.EOF else _whole(event)

    def _metadata(self, calling: telemetry.Calling) -> tuple[tuple[str, str], ...]:
        """The trace, and who asks."""
        return (*calling.metadata, *self._credentials)

    @contextmanager
    def _translated(self, calling: telemetry.Calling) -> Iterator[None]:
        try:
            yield
        except grpc.aio.AioRpcError as error:
            raise _traced(self._translate(error), calling) from None
        except TimeoutError:
            raise _traced(DeadlinePassed("the gateway did not answer before the deadline"), calling) from None

    def _translate(self, error: grpc.aio.AioRpcError) -> LanemeshError:
        # The gateway explains what it refuses; a status without an explanation comes from the connection.
        explained = any(key == DETAILS_KEY for key, _ in error.trailing_metadata() or ())
        if error.code() is grpc.StatusCode.UNAVAILABLE and not explained:
            return Unavailable(f"no gateway answers at {self.address}; start one with `lanemesh up`")
        return from_status(error)


def _calling(method: str, traceparent: str | None) -> telemetry.Calling:
    """The call and its trace: the one given is continued, else that of the call being served, else a new one begins."""
    return telemetry.Calling(client_name(method), parse(traceparent) if traceparent else None)


def _traced(error: LanemeshError, calling: telemetry.Calling) -> LanemeshError:
    """The error, which knows the trace that tells more of it."""
    error.trace_id = calling.trace_id
    return error


def _name_of(address: str) -> str:
    """On one machine only the gateway's own certificate will do; elsewhere that of the host, as on the web."""
    return identity("gateway") if on_loopback(address) else host_of(address)


def _search(query: SearchRequest | str, options: Options) -> SearchRequest:
    return search_request(query, **options) if isinstance(query, str) else query


def _earliest(deadline: Limit) -> Deadline | None:
    given = Deadline.after(deadline) if isinstance(deadline, int | float) else deadline
    limits = [limit for limit in (given, deadlines.current()) if limit is not None]
    return min(limits, key=Deadline.remaining, default=None)


def _sent(limit: Deadline | None) -> float | None:
    return min(wire_time_out(limit.require()), LONGEST) if limit else None


def _whole(reply: Response | None) -> Response:
    # grpc.aio delivers a reply that does not parse as None.
    if reply is None:
        raise BadReply("the gateway's reply does not parse")
    return reply


async def _send(call: grpc.aio.StreamUnaryCall[IngestRequest, IngestResponse], records: Records) -> bool:
    """Whether every record was sent before the gateway ended the call; its status says why it did."""
    async for record in _iterate(records):
        if call.done():
            return False
        await call.write(record)
    await call.done_writing()
    return True


async def _iterate(records: Records) -> AsyncIterator[IngestRequest]:
    if isinstance(records, AsyncIterable):
        async for record in records:
            yield record
    else:
        for record in records:
            yield record
