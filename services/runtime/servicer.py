"""Turns any Lane into a LaneService, and any IndexLane into an IndexService."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping

from lanemesh.v1 import index_pb2_grpc, lane_pb2_grpc
from lanemesh.v1.index_pb2 import (
    DeleteRequest,
    DeleteResponse,
    StatsRequest,
    StatsResponse,
    UpsertRequest,
    UpsertResponse,
)
from lanemesh.v1.lane_pb2 import (
    LANE_STATUS_EMPTY,
    LANE_STATUS_ERROR,
    LANE_STATUS_OK,
    LANE_STATUS_PARTIAL,
    LANE_STATUS_TIMEOUT,
    LANE_STATUS_UNSPECIFIED,
    CacheUse,
    LaneStatus,
    RetrieveRequest,
    RetrieveResponse,
)

from services.runtime import modes, records, telemetry
from services.runtime.attempts import record_attempts
from services.runtime.boundary import Context, call_deadline, guarded
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import DeadlinePassed, InvalidRequest
from services.runtime.lane import IndexLane, Lane
from services.runtime.spans import Span

# Records stored together: large enough to amortise a commit, small enough to bound memory.
BATCH_RECORDS = 500
BATCH_BYTES = 4 * 1024 * 1024
MAX_QUERY = 10_000
MAX_RESULTS = 100
MAX_PROJECTS = 1_000
MAX_DELETE = 10_000


class LaneServicer(lane_pb2_grpc.LaneServiceServicer):
    """Serves one lane: validates, keeps the deadline, reports what happened."""

    def __init__(self, name: str, lane: Lane, budget_ms: Mapping[str, float]) -> None:
        self._name = name
        self._lane = lane
        self._budget_ms = budget_ms

    @guarded
    async def Retrieve(self, request: RetrieveRequest, context: Context) -> RetrieveResponse:
        """Asks the lane; what it has at the soft deadline is the answer."""
        started = time.perf_counter()
        reply = RetrieveResponse(lane=self._name)
        _validate(request)
        deadline = call_deadline(context, self._budget_ms[modes.name_of(request.mode)])
        await self._ask(request, reply, deadline)
        reply.elapsed_ms = (time.perf_counter() - started) * 1000
        if (trace := telemetry.current()) is not None and trace.span is not None:
            _say(trace.span, request, reply)
        return reply

    async def _ask(self, request: RetrieveRequest, reply: RetrieveResponse, deadline: Deadline) -> None:
        soft = deadline.soft()
        try:
            with ambient(soft):
                async with asyncio.timeout(soft.remaining()):
                    await self._lane.retrieve(request, reply)
        except (TimeoutError, DeadlinePassed):
            _cut_short(reply)
        reply.total_found = max(reply.total_found, len(reply.evidence))
        if reply.status == LANE_STATUS_UNSPECIFIED:
            reply.status = LANE_STATUS_OK if reply.evidence else LANE_STATUS_EMPTY
        if reply.status == LANE_STATUS_EMPTY:
            reply.reason = reply.reason or "NO_MATCH"
            reply.message = reply.message or "nothing matched"


def _say(span: Span, request: RetrieveRequest, reply: RetrieveResponse) -> None:
    """Puts the account of the reply into the trace of the call."""
    span.set(
        lane=reply.lane,
        mode=modes.name_of(request.mode),
        status=LaneStatus.Name(reply.status).removeprefix("LANE_STATUS_"),
        reason="" if reply.status == LANE_STATUS_OK else reply.reason,
        results=len(reply.evidence),
        total_found=reply.total_found,
        engine=reply.engine,
        cache=CacheUse.Name(reply.cache).removeprefix("CACHE_USE_") if reply.cache else "",
    )
    span.failed = reply.status in (LANE_STATUS_ERROR, LANE_STATUS_TIMEOUT)
    record_attempts(reply.attempts, reply.lane, span, time.time_ns())


def _cut_short(reply: RetrieveResponse) -> None:
    found = len(reply.evidence)
    reply.status = LANE_STATUS_PARTIAL if found else LANE_STATUS_TIMEOUT
    reply.reason = "DEADLINE_EXCEEDED"
    reply.message = f"the deadline cut the search short after {found} results"


def _validate(request: RetrieveRequest) -> None:
    if not 1 <= len(request.query) <= MAX_QUERY:
        raise InvalidRequest("query", f"must have 1 to {MAX_QUERY} characters, has {len(request.query)}")
    if not 1 <= request.max_results <= MAX_RESULTS:
        raise InvalidRequest("max_results", f"must be 1 to {MAX_RESULTS}, is {request.max_results}")
    if len(request.filters.projects) > MAX_PROJECTS:
        raise InvalidRequest("filters.projects", f"at most {MAX_PROJECTS} are allowed")
    modes.name_of(request.mode)


class IndexServicer(index_pb2_grpc.IndexServiceServicer):
    """Serves the index of one lane."""

    def __init__(self, lane: IndexLane) -> None:
        self._lane = lane

    @guarded
    async def Upsert(self, request_iterator: AsyncIterator[UpsertRequest], _context: Context) -> UpsertResponse:
        """Stores batch by batch; the next record is read only when its batch is stored."""
        reply = UpsertResponse()
        batch: list[UpsertRequest] = []
        size = 0
        async for record in request_iterator:
            kind = record.WhichOneof("record")
            if kind is not None and kind not in self._lane.keeps:
                reply.ignored += 1
                continue
            if (failure := records.refusal(record)) is not None:
                reply.failures.append(failure)
                continue
            batch.append(record)
            size += record.ByteSize()
            if len(batch) >= BATCH_RECORDS or size >= BATCH_BYTES:
                await self._store(batch, reply)
                batch, size = [], 0
        await self._store(batch, reply)
        return reply

    async def _store(self, batch: list[UpsertRequest], reply: UpsertResponse) -> None:
        if batch:
            failures = await self._lane.upsert(batch)
            reply.failures.extend(failures)
            reply.stored += len(batch) - len({failure.sequence for failure in failures})

    @guarded
    async def Delete(self, request: DeleteRequest, _context: Context) -> DeleteResponse:
        """Deletes by identity."""
        for field in ("document_ids", "entity_ids", "relations"):
            if len(getattr(request, field)) > MAX_DELETE:
                raise InvalidRequest(field, f"at most {MAX_DELETE} at once")
        return DeleteResponse(deleted=await self._lane.delete(request))

    @guarded
    async def Stats(self, request: StatsRequest, _context: Context) -> StatsResponse:
        """Counts what the caller may see."""
        return await self._lane.stats(request.access_labels)
