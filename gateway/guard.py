"""What stands between the gateway and one lane: its breaker, its replicas and their backup calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol
from weakref import WeakKeyDictionary

import grpc
from google.protobuf.message import DecodeError
from lanemesh.v1 import search_pb2
from lanemesh.v1.lane_pb2 import (
    LANE_STATUS_ERROR,
    LANE_STATUS_TIMEOUT,
    LaneStatus,
    RetrieveRequest,
    RetrieveResponse,
)

from gateway import metrics
from gateway.breaker import Breaker
from gateway.hedge import Hedge, HedgedFlight
from services.runtime import modes, telemetry
from services.runtime.clients import Flight, Peers
from services.runtime.deadline import Deadline
from services.runtime.errors import DeadlinePassed, Unavailable
from services.runtime.protection import Protection
from services.runtime.registry import LaneRow
from services.runtime.trace import Metadata

RETRIEVE = "/lanemesh.v1.LaneService/Retrieve"

Method = grpc.aio.UnaryUnaryMultiCallable[RetrieveRequest, bytes]


class Underway(Protocol):
    """A lane call under way."""

    ended: float

    async def reply(self) -> bytes:
        """The reply as it came, or what went wrong as one of our errors."""

    def when_ended(self, told: Callable[[], None]) -> None:
        """Has `told` called once, as soon as awaiting the reply would not have to wait."""

    def cancel(self) -> None:
        """Gives it up."""


class Guard:
    """Calls to one lane."""

    def __init__(self, row: LaneRow, peers: Peers, protection: Protection) -> None:
        self._row = row
        self._peers = peers
        self._protection = protection
        self._breaker = Breaker(protection.breaker, turned=partial(metrics.breaker_turned, row.name))
        self._hedge = Hedge(protection.hedge)
        self._replicas = peers.replicas(row.name, protection.hedge.resolve_ms / 1000)
        self._methods: WeakKeyDictionary[grpc.aio.Channel, Method] = WeakKeyDictionary()

    def begin(self, question: RetrieveRequest, granted_ms: float) -> GuardedCall:
        """Asks the lane for so long; when its breaker is open, the call has failed already and cost nothing."""
        ticket = self._breaker.admit()
        shown = self._breaker.message(time.time())
        if ticket is None:
            return GuardedCall(_Barred(self._row.name, self._breaker), 0.0, shown)
        leg = telemetry.leg()
        flight = self._flight(question, granted_ms, leg.metadata if leg else None)
        fair = granted_ms >= self._protection.breaker.timeout_share * self._row.budget_ms[modes.name_of(question.mode)]
        return GuardedCall(flight, granted_ms, shown, _Ticket(self._breaker, ticket, fair), leg.span_id if leg else "")

    def _flight(self, question: RetrieveRequest, granted_ms: float, metadata: Metadata | None) -> Underway:
        deadline = Deadline.after(granted_ms / 1000)

        def send(channel: grpc.aio.Channel) -> Flight[bytes]:
            return Flight(self._method(channel), question, deadline, metadata)

        if self._row.paid or len(self._replicas) == 1:
            return send(self._peers.channel(self._row.name))
        return HedgedFlight(self._replicas, send, self._hedge, _usable)

    def _method(self, channel: grpc.aio.Channel) -> Method:
        method = self._methods.get(channel)
        if method is None:
            # Replies come as bytes: read by the gateway to be checked, and passed on to fusion as they are.
            method = self._methods[channel] = channel.unary_unary(
                RETRIEVE, request_serializer=RetrieveRequest.SerializeToString, response_deserializer=None
            )
        return method


class GuardedCall:
    """One call of a lane, under way or barred. Whoever reads its reply says how it went; whoever leaves cancels it."""

    def __init__(
        self,
        flight: Underway,
        granted_ms: float,
        breaker: search_pb2.Breaker | None,
        ticket: _Ticket | None = None,
        span_id: str = "",
    ) -> None:
        self._flight = flight
        self._ticket = ticket
        # 0: the lane was not asked.
        self.granted_ms = granted_ms
        # The breaker as this call met it; None: closed.
        self.breaker = breaker
        # The identity that its span is to have, because the lane knows it as the one above; empty: no matter.
        self.span_id = span_id

    @property
    def ended(self) -> float:
        """When it ended, on the monotonic clock."""
        return self._flight.ended

    @property
    def hedged(self) -> bool:
        """Whether a backup call was sent."""
        return self.hedge is not None

    @property
    def hedge(self) -> HedgedFlight[bytes] | None:
        """The two calls that it became; None when there was no backup."""
        return self._flight if isinstance(self._flight, HedgedFlight) and self._flight.hedged else None

    async def reply(self) -> bytes:
        """The reply as it came, or what went wrong as one of our errors."""
        return await self._flight.reply()

    def when_ended(self, told: Callable[[], None]) -> None:
        """Has `told` called once, as soon as awaiting the reply would not have to wait."""
        self._flight.when_ended(told)

    def record(self, status: LaneStatus.ValueType, reason: str) -> None:
        """How it went, as the ledger will say."""
        if self._ticket is not None:
            self._ticket.record(status, reason)

    def cancel(self) -> None:
        """Gives it up, if it is still under way."""
        self._flight.cancel()
        if self._ticket is not None:
            self._ticket.forget()


class _Ticket:
    """A breaker's leave for one call."""

    def __init__(self, breaker: Breaker, number: int, fair: bool) -> None:
        self._breaker = breaker
        self._number = number
        # Whether the lane had a fair share of its time: one hurried caller must not take a lane from the others.
        self._fair = fair

    def record(self, status: LaneStatus.ValueType, reason: str) -> None:
        if status == LANE_STATUS_TIMEOUT and not self._fair:
            self.forget()
        else:
            self._breaker.record(self._number, status, reason)

    def forget(self) -> None:
        self._breaker.forget(self._number)


class _Barred:
    """A call that the breaker did not let pass: it fails as the one that opened the breaker did, and says so."""

    def __init__(self, lane: str, breaker: Breaker) -> None:
        self.ended = time.monotonic()
        self._status, self._reason = breaker.cause
        self._message = f"lane {lane} keeps failing and is left alone; next try in {breaker.wait() * 1000:.0f} ms"

    def when_ended(self, told: Callable[[], None]) -> None:
        told()

    async def reply(self) -> bytes:
        kind = DeadlinePassed if self._status == LANE_STATUS_TIMEOUT else Unavailable
        raise kind(self._message, reason=self._reason)

    def cancel(self) -> None:
        return None


def _usable(raw: bytes) -> bool:
    try:
        reply = RetrieveResponse.FromString(raw)
    except DecodeError:
        return False
    return reply.status not in (LANE_STATUS_ERROR, LANE_STATUS_TIMEOUT)
