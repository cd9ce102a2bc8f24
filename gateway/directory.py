"""The configured lanes and how they are, asked now."""

from __future__ import annotations

import asyncio
import time

from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from lanemesh.v1 import search_pb2
from lanemesh.v1.index_pb2 import StatsRequest
from lanemesh.v1.index_pb2_grpc import IndexServiceStub
from lanemesh.v1.search_pb2 import LaneInfo, ListLanesResponse

from gateway.identity import ANYBODY, Caller
from services.runtime.clients import Peers, call, health_method
from services.runtime.deadline import Deadline
from services.runtime.errors import LanemeshError
from services.runtime.registry import LaneRow, Table

# One slow lane must not hold up the list.
CHECK_SECONDS = 1.0


async def list_lanes(table: Table, peers: Peers, deadline: Deadline, caller: Caller = ANYBODY) -> ListLanesResponse:
    """Every lane of the table and the fusion service, checked in parallel; counts are of what is open to the caller."""
    # The soft deadline, so that the list still arrives when a check takes all of its time.
    limit = Deadline.after(min(CHECK_SECONDS, deadline.soft().require()))
    *infos, fusion = await asyncio.gather(
        *(_describe(row, peers, limit, caller) for row in table.lanes.values()),
        _check(LaneInfo(name="fusion"), peers, limit),
    )
    return ListLanesResponse(lanes=infos, fusion=fusion)


async def _describe(row: LaneRow, peers: Peers, limit: Deadline, caller: Caller) -> LaneInfo:
    info = LaneInfo(name=row.name, indexed=bool(row.keeps), budgets_ms=row.budget_ms, fallback=row.fallback)
    info.serving = search_pb2.SERVING_DISABLED
    if row.enabled:
        await _check(info, peers, limit)
        if info.indexed and info.serving == search_pb2.SERVING_READY and caller.may_use(row.name):
            await _count(info, peers, limit, caller)
    return info


async def _check(info: LaneInfo, peers: Peers, limit: Deadline) -> LaneInfo:
    info.address = peers.addresses[info.name]
    started = time.monotonic()
    try:
        health = await call(health_method(peers.probe(info.name)), HealthCheckRequest(), limit)
        ready = health.status == HealthCheckResponse.SERVING
        info.serving = search_pb2.SERVING_READY if ready else search_pb2.SERVING_NOT_READY
        info.message = "" if ready else "its own check fails or it is draining"
    except LanemeshError as error:
        info.serving = search_pb2.SERVING_UNREACHABLE
        info.message = error.message
    info.check_ms = (time.monotonic() - started) * 1000
    return info


async def _count(info: LaneInfo, peers: Peers, limit: Deadline, caller: Caller) -> None:
    question = StatsRequest(access_labels=caller.labels)
    try:
        info.stats.CopyFrom(await call(IndexServiceStub(peers.channel(info.name)).Stats, question, limit))
    except LanemeshError as error:
        info.message = f"its index cannot be counted: {error.message}"
