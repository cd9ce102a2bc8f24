"""Asks lanes in parallel. Each lane's outcome is a value, never an exception, so that no lane costs another."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import grpc
from google.protobuf.message import DecodeError
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
from lanemesh.v1.search_pb2 import SearchRequest

from gateway import budget, plan
from gateway.plan import Planned
from services.runtime import telemetry
from services.runtime.clients import Flight, Peers
from services.runtime.deadline import Deadline
from services.runtime.errors import BadReply, DeadlinePassed, LanemeshError, translate
from services.runtime.registry import LaneRow, Table

log = logging.getLogger(__name__)

RETRIEVE = "/lanemesh.v1.LaneService/Retrieve"
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
    # `reply` as it came.
    raw: bytes = b""


@dataclass(slots=True)
class LaneCall:
    """One lane call under way."""

    lane: str
    budget_ms: float
    origin: float
    started: float
    flight: Flight[bytes]

    async def outcome(self) -> Outcome:
        """What becomes of it."""
        raw = b""
        identities: Sequence[str] = ()
        try:
            raw = await self.flight.reply()
            reply, identities = _read(raw, self.lane)
            status, reason, message = reply.status, _reason(reply), reply.message
        except Exception as error:  # noqa: BLE001  a lane's failure is a value
            reply, status, reason, message = None, *_failure(error)
        return Outcome(
            lane=self.lane,
            status=status,
            reason=reason,
            message=message,
            budget_ms=self.budget_ms,
            started_ms=(self.started - self.origin) * 1000,
            elapsed_ms=(self.flight.ended - self.started) * 1000,
            reply=reply,
            raw=raw,
            identities=identities,
        )


class Fanout:
    """Calls to the lanes of the mesh, over channels that live as long as the gateway."""

    def __init__(self, table: Table, peers: Peers) -> None:
        self._table = table
        # Replies come as bytes: read here to be checked, and passed on to fusion as they are.
        self._retrieve: dict[str, grpc.aio.UnaryUnaryMultiCallable[RetrieveRequest, bytes]] = {
            row.name: peers.channel(row.name).unary_unary(
                RETRIEVE, request_serializer=RetrieveRequest.SerializeToString, response_deserializer=None
            )
            for row in table.enabled()
        }

    async def ask_all(
        self, request: SearchRequest, planned: Planned, deadline: Deadline, origin: float
    ) -> list[Outcome]:
        """Asks every planned lane; returns when the last has ended or run out of its budget."""
        calls = self._start(request, planned, deadline, origin)
        try:
            return [await call.outcome() for call in calls]
        finally:
            _let_go(calls)

    async def ask_each(
        self, request: SearchRequest, planned: Planned, deadline: Deadline, origin: float
    ) -> AsyncIterator[Outcome]:
        """The same, each outcome as it comes."""
        calls = self._start(request, planned, deadline, origin)
        tasks = [asyncio.ensure_future(call.outcome()) for call in calls]
        try:
            for ended in asyncio.as_completed(tasks):
                yield await ended
        finally:
            for task in tasks:
                task.cancel()
            _let_go(calls)

    def _start(self, request: SearchRequest, planned: Planned, deadline: Deadline, origin: float) -> list[LaneCall]:
        questions = _questions(request, planned)
        return [self._call(row, questions[row.name], planned, deadline, origin) for row in planned.asked()]

    def _call(
        self, row: LaneRow, question: RetrieveRequest, planned: Planned, deadline: Deadline, origin: float
    ) -> LaneCall:
        started = time.monotonic()
        left_ms = deadline.remaining() * 1000
        kept_ms = budget.reserve(self._table, planned.mode, left_ms).total_ms
        granted_ms = budget.lane_budget(row, planned.mode, planned.factor, left_ms, kept_ms)
        leg = telemetry.leg(f"lane {row.name}", lane=row.name, budget_ms=granted_ms)
        flight = Flight(self._retrieve[row.name], question, Deadline(started + granted_ms / 1000), leg)
        return LaneCall(row.name, granted_ms, origin, started, flight)


def _let_go(calls: Sequence[LaneCall]) -> None:
    for call in calls:
        call.flight.cancel()


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


def _read(raw: bytes, lane: str) -> tuple[RetrieveResponse, Sequence[str]]:
    """The reply and the identities of its documents; refuses one that cannot be of this lane, parsing or not."""
    try:
        reply = RetrieveResponse.FromString(raw)
    except DecodeError:
        raise BadReply("the reply does not parse") from None
    if reply.lane != lane or reply.status not in _A_LANES:
        raise BadReply(f"the reply is not one of lane {lane}")
    identities, scores = [], []
    for evidence in reply.evidence:
        identities.append(evidence.document.id)
        scores.append(evidence.score)
    if not all(identities) or not all(map(isfinite, scores)):
        raise BadReply("a result has no document id or no finite score")
    return reply, identities
