"""Short ways to read the front door's replies, to bend the lane table, and to see what is still at work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from lanemesh.v1.search_pb2 import LedgerRow, SearchResponse

from services.runtime.errors import DETAILS_KEY
from services.runtime.registry import ModeRow, Table
from tests.support import TABLE

# Time enough for a busy machine, where time is not what is tested.
_LANE_MS, _MODE = 20_000, ModeRow(deadline_ms=60_000, reserve_ms=20_000, fusion_ms=10_000)


def tuned(table: Table = TABLE, **lanes: dict[str, Any]) -> Table:
    """The table with some fields of some lanes replaced; a number as budget_ms holds for every mode."""
    rows = dict(table.lanes)
    for name, fields in lanes.items():
        if isinstance(budget := fields.get("budget_ms"), int | float):
            fields = fields | {"budget_ms": dict.fromkeys(table.modes, budget)}
        rows[name] = replace(rows[name], **fields)
    return replace(table, lanes=rows)


UNHURRIED = replace(
    tuned(TABLE, **{name: {"budget_ms": _LANE_MS} for name in TABLE.lanes}), modes=dict.fromkeys(TABLE.modes, _MODE)
)


def row(reply: SearchResponse, lane: str) -> LedgerRow:
    """The lane's only row."""
    (found,) = [entry for entry in reply.ledger if entry.lane == lane]
    return found


def ids(reply: SearchResponse) -> list[str]:
    """The documents of the results, in order."""
    return [evidence.document.id for evidence in reply.results]


def stable(reply: SearchResponse) -> bytes:
    """The reply without what differs from run to run: times and the trace."""
    kept = SearchResponse()
    kept.CopyFrom(reply)
    for message, fields in (
        (kept, ("elapsed_ms", "trace_id")),
        (kept.plan, ("deadline_ms",)),
        (kept.metrics, ("planning_ms", "lanes_ms", "fusion_ms", "budget_utilisation")),
        (kept.fusion, ("elapsed_ms", "synthesis_ms")),
        *((entry, ("elapsed_ms", "lane_ms", "started_ms")) for entry in kept.ledger),
    ):
        for field in fields:
            message.ClearField(field)
    return kept.SerializeToString(deterministic=True)


async def refusal(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str, str]:
    """The code, reason and field with which a call is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    error = raised.value
    (detail,) = [value for key, value in error.trailing_metadata() or () if key == DETAILS_KEY]
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for part in status_pb2.Status.FromString(detail).details:
        part.Unpack(info)
        part.Unpack(bad)
    assert [violation.field for violation in bad.field_violations] == [*info.metadata.values()]
    return error.code(), info.reason, info.metadata.get("field", "")


# A server waiting for its next call, the shell around each call, and peers watching each other's health.
_STANDING = ("AioServer._request", "_schedule_rpc_coro", "grpc.health")


def at_work() -> set[asyncio.Task[Any]]:
    """The tasks of this loop that serve or make a call of ours."""
    named = {task: f"{task.get_name()} {getattr(task.get_coro(), '__qualname__', '')}" for task in asyncio.all_tasks()}
    return {task for task, name in named.items() if not any(standing in name for standing in _STANDING)}


async def settled(before: set[asyncio.Task[Any]]) -> None:
    """Returns when no task is left that was not there before."""
    async with asyncio.timeout(10):
        while left := at_work() - before:
            await asyncio.wait(left)
