"""The gateway's part of a trace, written when the query has ended, from what the ledger says: both tell the same.

Lanes and fusion record their own parts of a query that is sampled. Of one that is kept only afterwards they have
recorded nothing: then their parts are written here too, as far as their replies tell of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import CacheUse, LaneStatus
from lanemesh.v1.search_pb2 import BreakerState, Degradation, LedgerRow, SearchResponse

from gateway import ledger
from gateway.fanout import LaneCall
from gateway.query import Query
from services.runtime import spans, telemetry
from services.runtime.attempts import record_attempts
from services.runtime.spans import Span, Value

QUERY_CHARACTERS = 1_000
SCOPE_PROJECTS = 20
GIVEN_UP = "CANCELLED"
_FAILED = frozenset({lane_pb2.LANE_STATUS_ERROR, lane_pb2.LANE_STATUS_TIMEOUT})

Row = tuple[str, float]


class Writer:
    """Writes the spans of one query below `root`; `whole` when nobody else has recorded anything of it."""

    def __init__(self, query: Query, root: Span, *, whole: bool) -> None:
        self._query = query
        self._root = root
        self._whole = whole
        now = time.monotonic()
        self._now = now
        # What has to be added to an instant of the monotonic clock.
        self._epoch = time.time_ns() - int(now * 1e9)

    def write(self) -> None:
        """Everything below the root, and what the root says of the query."""
        query = self._query
        self._say_root()
        if query.asking is None:
            return
        self._plan()
        reply = query.reply
        rows = {(row.lane, row.started_ms): row for row in reply.ledger} if reply is not None else {}
        for call in query.asking.calls:
            self._lane(call, rows)
        if query.fusing is not None and query.fusing.ended:
            self._fuse(reply)

    def _say_root(self) -> None:
        query, root = self._query, self._root
        root.set(sampled_by="tail" if self._whole else "head")
        # Only a request that could be planned is known to be sound.
        if query.asking is None:
            return
        planned = query.asking.planned
        types = tuple(planned.message.query_types)
        root.set(mode=planned.mode, query_types=types, deadline_ms=planned.message.deadline_ms)
        if telemetry.settings().query_text:
            root.set(query=query.request.query[:QUERY_CHARACTERS])
        if query.reply is not None:
            root.set(**_said(query.reply))

    def _plan(self) -> None:
        assert self._query.asking is not None  # noqa: S101
        planned = self._query.asking.planned
        span = self._span(spans.PLAN, "internal", self._query.planning, self._query.asked)
        span.attributes = {"lanes": tuple(row.name for row in planned.asked()), "load": planned.load}
        telemetry.record(span)

    def _lane(self, call: LaneCall, rows: Mapping[Row, LedgerRow]) -> None:
        ended = call.flight.ended or self._now
        span = self._span(spans.lane_name(call.row.name), "client", call.started, ended, call.flight.span_id)
        row = None
        if self._query.asking is not None:
            row = rows.get((call.row.name, (call.started - self._query.asking.origin) * 1000))
        said = row if row is not None else ledger.row(call.told) if call.told is not None else None
        if said is None:
            span.attributes = {"lane": call.row.name, "budget_granted_ms": call.flight.granted_ms, "status": GIVEN_UP}
        else:
            span.attributes = _of_row(said)
            span.failed = said.status in _FAILED
            self._events(span, said, call)
        span.set(ledger_row=row is not None, scope=tuple(call.scope[:SCOPE_PROJECTS]))
        telemetry.record(span)
        if self._whole and said is not None and said.lane_ms > 0.0:
            self._reported_lane(span, said)

    def _events(self, span: Span, row: LedgerRow, call: LaneCall) -> None:
        if row.HasField("breaker"):
            state = BreakerState.Name(row.breaker.state).removeprefix("BREAKER_STATE_")
            span.event(spans.BREAKER, span.start, state=state)
        if (hedge := call.flight.hedge) is not None:
            span.event(spans.HEDGE, self._epoch + int(hedge.forked * 1e9))
        if row.status == lane_pb2.LANE_STATUS_PARTIAL:
            span.event(spans.PARTIAL, span.end, reason=row.reason)

    def _reported_lane(self, above: Span, row: LedgerRow) -> None:
        span = _reported(spans.RETRIEVE, above, row.lane_ms)
        span.attributes |= {"lane": row.lane, "status": above.attributes["status"], "engine": row.engine}
        telemetry.record(span)
        record_attempts(row.attempts, row.lane, span, span.end)

    def _fuse(self, reply: SearchResponse | None) -> None:
        fusing = self._query.fusing
        assert fusing is not None  # noqa: S101
        span = self._span(spans.FUSE, "client", fusing.started, fusing.ended, fusing.span_id)
        reason = reply.fusion_error if reply is not None else GIVEN_UP
        span.attributes = {"granted_ms": fusing.granted_ms, "reason": reason}
        span.failed = bool(reason)
        telemetry.record(span)
        if self._whole and reply is not None and reply.HasField("fusion"):
            below = _reported(spans.FUSION, span, reply.fusion.elapsed_ms)
            below.set(**fusion_said(reply))
            telemetry.record(below)

    def _span(self, name: str, kind: spans.Kind, started: float, ended: float, span_id: str = "") -> Span:
        at = self._epoch + int(started * 1e9)
        span = Span(name, kind, self._root.trace_id, self._root.span_id, at, span_id)
        span.end = max(at, self._epoch + int(ended * 1e9))
        return span


def fusion_said(reply: SearchResponse) -> dict[str, Value]:
    """What the fusion service says of itself."""
    report = reply.fusion
    return {
        "received": report.received,
        "distinct": report.distinct,
        "merged": report.merged,
        "results": len(reply.results),
        "sentences": len(reply.sentences),
        "conflicts": report.conflicts_detected,
    }


def _reported(name: str, above: Span, took_ms: float) -> Span:
    """The span of a peer as its reply tells of it, in the middle of the call: the wire took time on both sides."""
    took = min(int(took_ms * 1e6), above.end - above.start)
    span = Span(name, "server", above.trace_id, above.span_id, above.start + (above.end - above.start - took) // 2)
    span.end = span.start + took
    span.attributes = {"reported": True}
    return span


def _said(reply: SearchResponse) -> dict[str, Value]:
    figures = reply.metrics
    return {
        "degradation": Degradation.Name(reply.degradation).removeprefix("DEGRADATION_"),
        "elapsed_ms": reply.elapsed_ms,
        "lanes_asked": figures.lanes_asked,
        "lanes_answered": figures.lanes_answered,
        "timeouts": figures.timeouts,
        "fallbacks": figures.fallbacks,
        "cache_hits": figures.cache_hits,
        "results": len(reply.results),
        "sentences": len(reply.sentences),
        "conflicts": len(reply.disagreements),
        "fusion_error": reply.fusion_error,
    }


def _of_row(row: LedgerRow) -> dict[str, Value]:
    return {
        "lane": row.lane,
        "budget_granted_ms": row.budget_ms,
        "budget_spent_ms": row.elapsed_ms,
        "status": LaneStatus.Name(row.status).removeprefix("LANE_STATUS_"),
        "reason": row.reason,
        "results": row.returned,
        "total_found": row.total_found,
        "lane_ms": row.lane_ms,
        "engine": row.engine,
        "cache": CacheUse.Name(row.cache).removeprefix("CACHE_USE_") if row.cache else "",
        "fallback_for": row.fallback_for,
        "hedged": row.hedged,
    }
