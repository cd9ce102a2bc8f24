"""Short ways to ask the front door, to read its replies, and to bend the lane table."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from lanemesh.v1.search_pb2 import LedgerRow, SearchResponse

from services.runtime.errors import DETAILS_KEY
from services.runtime.registry import Table
from tests.support import TABLE


def tuned(table: Table = TABLE, **lanes: dict[str, Any]) -> Table:
    """The table with some fields of some lanes replaced; a number as budget_ms holds for every mode."""
    rows = dict(table.lanes)
    for name, fields in lanes.items():
        if isinstance(budget := fields.get("budget_ms"), int | float):
            fields = fields | {"budget_ms": dict.fromkeys(table.modes, budget)}
        rows[name] = replace(rows[name], **fields)
    return replace(table, lanes=rows)


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
