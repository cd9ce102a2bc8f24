"""A mesh inside the test: real servers on port 0, real channels, lanes of ten lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

import grpc
from lanemesh.v1.evidence_pb2 import Document, Evidence
from lanemesh.v1.fusion_pb2_grpc import add_FusionServiceServicer_to_server
from lanemesh.v1.index_pb2 import DeleteRequest, RecordFailure, StatsResponse, UpsertRequest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2_grpc import SearchServiceStub, add_SearchServiceServicer_to_server

from fusion_service.compose import Composer
from fusion_service.service import Fusion
from gateway.identity import Callers
from gateway.service import NOBODY_KNOWN, Gateway
from services.runtime.__main__ import services_of
from services.runtime.clients import Peers
from services.runtime.registry import Table, load_table
from services.runtime.server import Security, Server, ServerSettings, Service

# Every lane is asked whatever the question, but by what the request says: routing has tests of its own.
_SHIPPED = load_table()
_EVERYONE = [name for name in _SHIPPED.lanes if name != "preflight"]
TABLE = replace(_SHIPPED, routing=replace(_SHIPPED.routing, types={}, otherwise=_EVERYONE, joins={}, cues={}, modes={}))


def evidence(identity: str, content: str = "", score: float = 1.0, **fields: object) -> Evidence:
    """Evidence with one document."""
    document = Document(id=identity, title=identity, content=content or f"{identity} is a document.", **fields)
    return Evidence(document=document, score=score)


@dataclass
class FakeLane:
    """A lane that answers from a list, and may wait, fail or keep what it is given."""

    results: Sequence[Evidence] = ()
    error: Exception | None = None
    # While set, retrieve waits for it after adding its results one by one.
    gate: asyncio.Event | None = None
    healthy: bool = True
    keeps: frozenset[str] = frozenset({"document"})
    refuse: Callable[[UpsertRequest], str] = lambda _record: ""
    asked: list[RetrieveRequest] = field(default_factory=list)
    counted_for: list[list[str]] = field(default_factory=list)
    stored: dict[str, Document] = field(default_factory=dict)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    running: int = 0

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        self.asked.append(request)
        self.running += 1
        self.started.set()
        try:
            if self.error is not None:
                raise self.error
            reply.evidence.extend(self.results)
            reply.total_found = len(self.results)
            if self.gate is not None:
                await self.gate.wait()
        finally:
            self.running -= 1

    async def check(self) -> None:
        if not self.healthy:
            raise RuntimeError("the engine is away")

    async def close(self) -> None:
        return None

    async def upsert(self, records: Sequence[UpsertRequest]) -> Sequence[RecordFailure]:
        if self.error is not None:
            raise self.error
        failures = []
        for record in records:
            if message := self.refuse(record):
                failures.append(RecordFailure(sequence=record.sequence, id=record.document.id, message=message))
            else:
                self.stored[record.document.id] = record.document
        return failures

    async def delete(self, request: DeleteRequest) -> int:
        return sum(self.stored.pop(identity, None) is not None for identity in request.document_ids)

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        self.counted_for.append(list(access_labels))
        return StatsResponse(documents=len(self.stored), engine="fake")


@asynccontextmanager
async def serving(
    *services: Service, check: Callable[..., object] | None = None, security: Security | None = None
) -> AsyncIterator[str]:
    """The services on a free port; yields the address."""

    async def ready() -> None:
        return None

    settings = ServerSettings(grace_seconds=0.1, lame_duck_seconds=0.0)
    server = Server(settings, services, check or ready, security=security)  # type: ignore[arg-type]
    port = await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop()


@asynccontextmanager
async def lane_server(name: str, lane: FakeLane, table: Table = TABLE) -> AsyncIterator[str]:
    """One lane on a free port; yields the address."""
    async with serving(*services_of(name, lane, table), check=lane.check) as address:
        yield address


@dataclass
class Mesh:
    """A running mesh: the front door, and where its parts are."""

    search: SearchServiceStub
    channel: grpc.aio.Channel
    addresses: dict[str, str]
    gateway: Gateway
    address: str


# What a composer of the mesh may take.
SYNTHESIS_MS = 2_000.0
# An address of this machine where nothing listens: port 1 is reserved and never bound by the tests.
NOBODY = "127.0.0.1:1"


@asynccontextmanager
async def mesh(
    lanes: Mapping[str, FakeLane | str],
    *,
    fusion: bool | str = True,
    table: Table = TABLE,
    callers: Callers = NOBODY_KNOWN,
    composer: Composer | None = None,
    security: Security | None = None,
) -> AsyncIterator[Mesh]:
    """A gateway over these lanes; a lane or the fusion service may be given as an address instead."""
    table = table.only(set(lanes))
    async with AsyncExitStack() as stack:
        addresses = {
            name: lane if isinstance(lane, str) else await stack.enter_async_context(lane_server(name, lane, table))
            for name, lane in lanes.items()
        }
        if fusion is True:
            servicer = Fusion(table, composer)
            service = Service(
                "lanemesh.v1.FusionService", lambda server: add_FusionServiceServicer_to_server(servicer, server)
            )
            addresses["fusion"] = await stack.enter_async_context(serving(service))
        else:
            addresses["fusion"] = fusion or NOBODY
        peers = Peers(addresses, max_reply_bytes=4 * 1024 * 1024)
        stack.push_async_callback(peers.close)
        gateway = Gateway(table, peers, synthesis_ms=SYNTHESIS_MS if composer else 0.0, callers=callers)
        service = Service(
            "lanemesh.v1.SearchService", lambda server: add_SearchServiceServicer_to_server(gateway, server)
        )
        address = await stack.enter_async_context(serving(service, security=security))
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(address))
        yield Mesh(SearchServiceStub(channel), channel, addresses, gateway, address)
