"""Asks lanes in parallel. Each lane's outcome is a value, never an exception, so that no lane costs another."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from lanemesh.v1.lane_pb2 import (
    LANE_STATUS_ERROR,
    LANE_STATUS_OK,
    LANE_STATUS_SKIPPED,
    LANE_STATUS_TIMEOUT,
    LANE_STATUS_UNSPECIFIED,
    LaneStatus,
    RetrieveRequest,
    RetrieveResponse,
)
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub
from lanemesh.v1.search_pb2 import SearchRequest

from gateway import budget, plan
from gateway.plan import Planned
from services.runtime.clients import Peers, call
from services.runtime.deadline import Deadline
from services.runtime.errors import BadReply, DeadlinePassed, LanemeshError, translate
from services.runtime.registry import LaneRow, Table
from services.runtime.telemetry import span

log = logging.getLogger(__name__)

# What a lane can say of itself: one that was asked has a status, and was in the plan.
_A_LANES = frozenset(LaneStatus.values()) - {LANE_STATUS_UNSPECIFIED, LANE_STATUS_SKIPPED}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one lane call. `reply` is None exactly when the lane gave none that can be used."""

    lane: str
    status: LaneStatus.ValueType
    reason: str
    message: str
    budget_ms: float
    started_ms: float
    elapsed_ms: float
    reply: RetrieveResponse | None
    # Identities of the documents in `reply`, in its order.
    identities: Sequence[str] = ()


class Fanout:
    """Calls to the lanes of the mesh, over channels that live as long as the gateway."""

    def __init__(self, table: Table, peers: Peers) -> None:
        self._table = table
        self._retrieve = {row.name: LaneServiceStub(peers.channel(row.name)).Retrieve for row in table.enabled()}

    async def ask_all(
        self, request: SearchRequest, planned: Planned, deadline: Deadline, origin: float
    ) -> list[Outcome]:
        """Asks every planned lane; returns when the last has ended or run out of its budget."""
        questions = _questions(request, planned)
        return await asyncio.gather(
            *(self._ask(row, questions[row.name], planned, deadline, origin) for row in planned.asked())
        )

    async def ask_each(
        self, request: SearchRequest, planned: Planned, deadline: Deadline, origin: float
    ) -> AsyncIterator[Outcome]:
        """The same, each outcome as it comes."""
        questions = _questions(request, planned)
        tasks = [
            asyncio.ensure_future(self._ask(row, questions[row.name], planned, deadline, origin))
            for row in planned.asked()
        ]
        try:
            for ended in asyncio.as_completed(tasks):
                yield await ended
        finally:
            for task in tasks:
                task.cancel()

    async def _ask(
        self, row: LaneRow, question: RetrieveRequest, planned: Planned, deadline: Deadline, origin: float
    ) -> Outcome:
        started = time.monotonic()
        left_ms = deadline.remaining() * 1000
        kept_ms = budget.reserve(self._table, planned.mode, left_ms).total_ms
        granted_ms = budget.lane_budget(row, planned.mode, planned.factor, left_ms, kept_ms)
        reply: RetrieveResponse | None = None
        identities: Sequence[str] = ()
        try:
            with span(f"lane {row.name}", "client", lane=row.name, budget_ms=granted_ms):
                reply = await call(self._retrieve[row.name], question, Deadline(started + granted_ms / 1000))
            identities = _check(reply, row.name)
            status, reason, message = reply.status, _reason(reply), reply.message
        except Exception as error:  # noqa: BLE001  a lane's failure is a value
            reply, status, reason, message = None, *_failure(error)
        return Outcome(
            lane=row.name,
            status=status,
            reason=reason,
            message=message,
            budget_ms=granted_ms,
            started_ms=(started - origin) * 1000,
            elapsed_ms=(time.monotonic() - started) * 1000,
            reply=reply,
            identities=identities,
        )


def _questions(request: SearchRequest, planned: Planned) -> Mapping[str, RetrieveRequest]:
    return {lane.lane: plan.lane_request(request, lane) for lane in planned.message.lanes if lane.included}


def _failure(error: Exception) -> tuple[LaneStatus.ValueType, str, str]:
    known = translate(error)
    if not isinstance(error, LanemeshError | TimeoutError | ConnectionError):
        log.error("unexpected error of a lane call", exc_info=error)
    status = LANE_STATUS_TIMEOUT if isinstance(known, DeadlinePassed) else LANE_STATUS_ERROR
    return status, known.reason, known.message


def _reason(reply: RetrieveResponse) -> str:
    """Empty exactly when the status is OK, as the ledger promises, even where a lane forgets it."""
    if reply.status == LANE_STATUS_OK:
        return ""
    return reply.reason or LaneStatus.Name(reply.status).removeprefix("LANE_STATUS_")


def _check(reply: RetrieveResponse, lane: str) -> Sequence[str]:
    """The identities of the reply's documents; refuses a reply that parses but cannot be one of this lane's."""
    if reply.lane != lane or reply.status not in _A_LANES:
        raise BadReply(f"the reply is not one of lane {lane}")
    identities = [evidence.document.id for evidence in reply.evidence]
    if not all(identities) or not all(map(isfinite, [evidence.score for evidence in reply.evidence])):
        raise BadReply("a result has no document id or no finite score")
    return identities
