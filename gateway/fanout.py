"""Calls to lanes, begun at once and ended by their budgets. Each outcome is a value, never an exception."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lanemesh.v1.lane_pb2 import RetrieveRequest

from gateway import budget
from gateway.guard import Guard, GuardedCall
from gateway.outcome import Outcome, failure, read, reason_of
from gateway.plan import Planned
from services.runtime.clients import Peers
from services.runtime.deadline import Deadline
from services.runtime.registry import LaneRow, Table


@dataclass(slots=True)
class LaneCall:
    """One lane call under way."""

    row: LaneRow
    question: RetrieveRequest
    budget_ms: float
    started: float
    flight: GuardedCall
    # The lane this one stands in for.
    fallback_for: str = ""
    # The projects the graph limits it to; the request's own are part of the question.
    scope: Sequence[str] = ()
    # What became of it, once that is known; None also where nobody asked, because its answer was not needed any more.
    told: Outcome | None = None

    @property
    def until(self) -> float:
        """The end of its budget, on the monotonic clock."""
        return self.started + self.budget_ms / 1000

    async def outcome(self, origin: float) -> Outcome:
        """What becomes of it; `origin` is when the query began."""
        raw = b""
        identities: Sequence[str] = ()
        try:
            raw = await self.flight.reply()
            reply, identities = read(raw, self.row.name)
            status, reason, message = reply.status, reason_of(reply), reply.message
        except Exception as error:  # noqa: BLE001  a lane's failure is a value
            reply, status, reason, message = None, *failure(error)
        self.flight.record(status, reason)
        self.told = Outcome(
            lane=self.row.name,
            status=status,
            reason=reason,
            message=message,
            budget_ms=self.flight.granted_ms,
            started_ms=(self.started - origin) * 1000,
            elapsed_ms=(self.flight.ended - self.started) * 1000,
            reply=reply,
            raw=raw,
            identities=identities,
            fallback_for=self.fallback_for,
            scope=self.scope,
            breaker=self.flight.breaker,
            hedged=self.flight.hedged,
        )
        return self.told


class Fanout:
    """The lanes of the mesh, over channels that live as long as the gateway."""

    def __init__(self, table: Table, peers: Peers) -> None:
        self._table = table
        self._guards = {row.name: Guard(row, peers, table.protection) for row in table.enabled()}

    def granted_ms(self, row: LaneRow, planned: Planned, deadline: Deadline) -> float:
        """The lane's budget if it were called now."""
        left_ms = deadline.remaining() * 1000
        kept_ms = budget.reserve(self._table, planned.mode, left_ms).total_ms
        return budget.lane_budget(row, planned.mode, planned.factor, left_ms, kept_ms)

    def begin(
        self,
        row: LaneRow,
        question: RetrieveRequest,
        budget_ms: float,
        on_end: Callable[[LaneCall], None],
        *,
        fallback_for: str = "",
        scope: Sequence[str] = (),
    ) -> LaneCall:
        """Asks a lane; `on_end` is told when the call has ended, however it ends."""
        started = time.monotonic()
        flight = self._guards[row.name].begin(question, budget_ms)
        call = LaneCall(row, question, budget_ms, started, flight, fallback_for, scope)
        flight.when_ended(lambda: on_end(call))
        return call
