"""The honest account: one row for every configured lane, and how far the answer is from what was planned."""

from __future__ import annotations

from collections.abc import Sequence

from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import LANE_STATUS_BYPASSED, LANE_STATUS_SKIPPED
from lanemesh.v1.search_pb2 import (
    DEGRADATION_L0,
    DEGRADATION_L1,
    DEGRADATION_L2,
    DEGRADATION_L3,
    DEGRADATION_L4,
    Degradation,
    LedgerRow,
    QueryMetrics,
    SearchResponse,
)

from gateway.outcome import Outcome
from gateway.plan import Decision, Planned
from gateway.route import PREFLIGHT

_ANSWERED = {lane_pb2.LANE_STATUS_OK, lane_pb2.LANE_STATUS_PARTIAL, lane_pb2.LANE_STATUS_EMPTY}
_WHOLE = {lane_pb2.LANE_STATUS_OK, lane_pb2.LANE_STATUS_EMPTY}
_CACHED = {lane_pb2.CACHE_USE_HIT, lane_pb2.CACHE_USE_STALE, lane_pb2.CACHE_USE_JOINED}


def rows(planned: Planned, outcomes: Sequence[Outcome]) -> list[LedgerRow]:
    """One row for every lane of the table, in its order; what fusion kept of each is not known yet."""
    by_lane = {outcome.lane: outcome for outcome in outcomes}
    entries = [
        row(by_lane[decision.row.name]) if decision.row.name in by_lane else _not_asked(decision)
        for decision in planned.decisions
    ]
    stand_ins = {entry.fallback_for: entry.lane for entry in entries if entry.fallback_for}
    for entry in entries:
        entry.fallback_lane = stand_ins.get(entry.lane, "")
    return entries


def row(outcome: Outcome) -> LedgerRow:
    """The row of a lane that was asked."""
    entry = LedgerRow(
        lane=outcome.lane,
        status=outcome.status,
        reason=outcome.reason,
        message=outcome.message,
        budget_ms=outcome.budget_ms,
        elapsed_ms=outcome.elapsed_ms,
        started_ms=outcome.started_ms,
        fallback_for=outcome.fallback_for,
        scope=outcome.scope,
        breaker=outcome.breaker,
        hedged=outcome.hedged,
    )
    reply = outcome.reply
    if reply is not None:
        entry.returned = len(reply.evidence)
        entry.total_found = reply.total_found
        entry.cache = reply.cache
        entry.engine = reply.engine
        entry.lane_ms = reply.elapsed_ms
        entry.attempts.extend(reply.attempts)
        entry.entities.extend(reply.entities)
    return entry


def _not_asked(decision: Decision) -> LedgerRow:
    status = LANE_STATUS_BYPASSED if decision.bypassed else LANE_STATUS_SKIPPED
    return LedgerRow(lane=decision.row.name, status=status, reason=decision.skip, message=decision.why)


def degradation(ledger: Sequence[LedgerRow], fused: bool) -> Degradation.ValueType:
    """L0 to L4 from the rows alone, and whether the fusion service answered."""
    # Preflight advises; an answer without it lacks nothing.
    planned = [entry for entry in ledger if entry.status != LANE_STATUS_SKIPPED and entry.lane != PREFLIGHT]
    answered = [entry for entry in planned if entry.status in _ANSWERED]
    lost = sum(entry.status not in _WHOLE for entry in planned)
    if not answered:
        return DEGRADATION_L4
    evidence = [entry for entry in answered if entry.returned]
    if lost and evidence and all(entry.cache == lane_pb2.CACHE_USE_STALE or entry.fallback_for for entry in evidence):
        return DEGRADATION_L3
    if lost > 1 or not fused:
        return DEGRADATION_L2
    return DEGRADATION_L1 if lost else DEGRADATION_L0


def metrics(ledger: Sequence[LedgerRow]) -> QueryMetrics:
    """The figures that follow from the rows."""
    asked = [entry for entry in ledger if entry.budget_ms > 0]
    return QueryMetrics(
        lanes_asked=len(asked),
        lanes_answered=sum(entry.status in _ANSWERED for entry in asked),
        timeouts=sum(entry.status == lane_pb2.LANE_STATUS_TIMEOUT for entry in asked),
        fallbacks=sum(bool(entry.fallback_for) for entry in asked),
        cache_hits=sum(entry.cache in _CACHED for entry in asked),
        budget_utilisation=max((entry.elapsed_ms / entry.budget_ms for entry in asked), default=0.0),
    )


def budget_shares(ledger: Sequence[LedgerRow]) -> list[float]:
    """What share of its budget each lane used that was asked."""
    return [entry.elapsed_ms / entry.budget_ms for entry in ledger if entry.budget_ms > 0]


def own_seconds(reply: SearchResponse) -> float:
    """How long the query waited for the gateway, the wire and the queues of its peers, and not for a peer's work.

    Of the lanes the one in the middle counts: a few that hang say nothing of how busy the mesh is, most that wait do.
    """
    waits = sorted(entry.elapsed_ms - entry.lane_ms for entry in reply.ledger if entry.budget_ms > 0)
    lane_ms = waits[(len(waits) - 1) // 2] if waits else 0.0
    fusion_ms = reply.metrics.fusion_ms - reply.fusion.elapsed_ms
    return max(0.0, reply.metrics.planning_ms + lane_ms + fusion_ms) / 1000
