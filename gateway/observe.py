"""What a query leaves behind when it has ended: its figures, a line in the log, and a trace where one is wanted."""

from __future__ import annotations

import logging
import time
from asyncio import CancelledError
from collections.abc import Callable
from types import TracebackType
from typing import Self

from lanemesh.v1.lane_pb2 import LaneStatus
from lanemesh.v1.search_pb2 import DEGRADATION_L0, Degradation, SearchRequest, SearchResponse

from gateway import metrics
from gateway.query import Query
from gateway.traces import Writer
from services.runtime import modes, spans, telemetry
from services.runtime.deadline import Clock
from services.runtime.errors import (
    DeadlinePassed,
    InvalidRequest,
    NotImplementedHere,
    Overloaded,
    PermissionDenied,
    Unauthenticated,
)

log = logging.getLogger(__name__)

# A query that ends so has nothing to tell that the answer to its caller does not say.
_NOT_OURS = (InvalidRequest, Unauthenticated, PermissionDenied, NotImplementedHere, Overloaded)


class Allowance:
    """So many a second, as many at once."""

    def __init__(self, per_second: float, clock: Clock = time.monotonic) -> None:
        self._per_second = per_second
        self._clock = clock
        self._left = per_second
        self._at = clock()

    def take(self) -> bool:
        """Whether there is one left."""
        now = self._clock()
        self._left = min(max(self._per_second, 1.0), self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Observed(Query):
    """A query as a block, at whose end the account of it is written."""

    __slots__ = ("_tail",)

    def __init__(self, request: SearchRequest, tail: Allowance) -> None:
        super().__init__(request)
        self._tail = tail

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._account(error)
        except Exception as trouble:
            # An answer must not be lost for want of an account of it.
            log.error("the account of a query failed", exc_info=trouble)

    def _account(self, error: BaseException | None) -> None:
        trace = telemetry.current()
        span = trace.span if trace is not None else None
        if span is not None:
            if isinstance(error, Overloaded):
                span.event(spans.SHED, reason=error.reason)
            Writer(self, span, whole=False).write()
        elif (why := self._worth_keeping(error)) and telemetry.exporting() and trace is not None and trace.late:
            span = self._keep(why, trace.late)
        if self.reply is not None:
            self._count(self.reply, span.trace_id if span is not None else "")

    def _keep(self, why: str, late: Callable[[], spans.Span]) -> spans.Span | None:
        """Writes the trace of a query that nobody sampled, unless there have been too many."""
        if not self._tail.take():
            metrics.TRACES_KEPT.of("limited").inc()
            return None
        metrics.TRACES_KEPT.of(why).inc()
        span = late()
        span.set(kept_because=why)
        Writer(self, span, whole=True).write()
        return span

    def _worth_keeping(self, error: BaseException | None) -> str:
        """Why its trace is worth keeping; empty: it is not."""
        if self.reply is not None:
            if self.reply.degradation != DEGRADATION_L0:
                return "degraded"
            return "late" if self._late(self.reply) else ""
        if error is None or isinstance(error, _NOT_OURS):
            return ""
        out_of_time = self.asking is not None and self.asking.deadline.passed()
        if isinstance(error, DeadlinePassed) or out_of_time:
            return "late"
        # Its caller left, for reasons of its own.
        return "" if isinstance(error, CancelledError | GeneratorExit) else "failed"

    def _late(self, reply: SearchResponse) -> bool:
        return reply.elapsed_ms > reply.plan.deadline_ms

    def _count(self, reply: SearchResponse, trace_id: str) -> None:
        mode = modes.name_of(self.request.mode)
        metrics.count_answer(mode, reply, trace_id)
        if self._late(reply):
            metrics.LATE.of(mode).inc()
        if self.asking is not None:
            for call in self.asking.calls:
                if (hedge := call.flight.hedge) is not None:
                    metrics.HEDGES.of(call.row.name, hedge.winner).inc()
        if log.isEnabledFor(logging.INFO):
            log.info("query", extra=told(mode, reply))


def told(mode: str, reply: SearchResponse) -> dict[str, object]:
    """The line of one query: what is needed to find the slow and the thin, and nothing its caller wrote."""
    return {
        "mode": mode,
        "degradation": Degradation.Name(reply.degradation).removeprefix("DEGRADATION_"),
        "elapsed_ms": round(reply.elapsed_ms, 3),
        "deadline_ms": round(reply.plan.deadline_ms, 3),
        "results": len(reply.results),
        "lanes": " ".join(
            f"{row.lane}:{LaneStatus.Name(row.status).removeprefix('LANE_STATUS_')}:{row.elapsed_ms:.0f}"
            for row in reply.ledger
            if row.budget_ms > 0
        ),
    } | ({"fusion_error": reply.fusion_error} if reply.fusion_error else {})
