"""What the gateway exports of its queries. Children are looked up once; a query only adds to them."""

from __future__ import annotations

import logging
from functools import cache

from lanemesh.v1.lane_pb2 import LANE_STATUS_SKIPPED, CacheUse, LaneStatus
from lanemesh.v1.search_pb2 import (
    BREAKER_STATE_CLOSED,
    BREAKER_STATE_HALF_OPEN,
    BREAKER_STATE_OPEN,
    BreakerState,
    Degradation,
    LedgerRow,
    SearchResponse,
)

from services.runtime.metrics import Counters, Histograms, Levels, Tally

log = logging.getLogger(__name__)

QUERIES = Counters("lanemesh_queries", "Queries answered.", ["mode", "degradation"])
QUERY_SECONDS = Histograms(
    "lanemesh_query_seconds",
    "Response time.",
    (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0),
    ["mode"],
)
LATE = Counters("lanemesh_query_late", "Queries that took longer than the time they had.", ["mode"])
STAGE_SECONDS = Histograms(
    "lanemesh_query_stage_seconds",
    "Time of the stages of a query: planning, lanes, fusion.",
    (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0),
    ["stage"],
)
LANE_CALLS = Counters("lanemesh_lane_calls", "Rows of the ledger that were not skipped.", ["lane", "status"])
LANE_SECONDS = Histograms(
    "lanemesh_lane_seconds",
    "Time of a lane call as the gateway saw it.",
    (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 0.8, 1.0, 1.5, 2.0, 4.0),
    ["lane"],
)
BUDGET_SHARE = Histograms(
    "lanemesh_lane_budget_share",
    "Share of its budget that a lane call spent.",
    (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1),
    ["lane"],
)
CACHE_USES = Counters("lanemesh_lane_cache", "Lane calls by what the lane's cache did.", ["lane", "use"])
FALLBACKS = Counters("lanemesh_fallbacks", "Fallbacks that ran.", ["lane", "stand_in"])
HEDGES = Counters("lanemesh_hedges", "Backup calls sent, by who answered first.", ["lane", "winner"])
BREAKERS = Levels("lanemesh_breaker_state", "Breaker of a lane: 0 closed, 1 half open, 2 open.", ["lane"])
BREAKERS_OPENED = Counters("lanemesh_breaker_opened", "Times a breaker opened.", ["lane"])
FUSION_LOST = Counters("lanemesh_fusion_lost", "Queries whose fusion failed.", ["reason"])
SHEDS = Counters("lanemesh_sheds", "Requests refused because the gateway was full.", ["why"])
GATE_IN_FLIGHT = Levels("lanemesh_gate_in_flight", "Requests at work.").of()
GATE_LIMIT = Levels("lanemesh_gate_limit", "Requests that may be at work.").of()
PRESSURE = Levels("lanemesh_pressure", "How hard the gateway is pressed, 0..1.").of()
TRACES_KEPT = Counters("lanemesh_traces_kept", "Unsampled queries whose trace was worth keeping.", ["why"])

_PLANNING, _LANES, _FUSION = (STAGE_SECONDS.of(stage) for stage in ("planning", "lanes", "fusion"))
_LEVELS = {BREAKER_STATE_CLOSED: 0, BREAKER_STATE_HALF_OPEN: 1, BREAKER_STATE_OPEN: 2}


class _Lane:
    """The figures of one lane."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seconds = LANE_SECONDS.of(name)
        self._share = BUDGET_SHARE.of(name)
        self._calls: dict[LaneStatus.ValueType, Tally] = {}
        self._uses: dict[CacheUse.ValueType, Tally] = {}

    def add(self, row: LedgerRow, status: LaneStatus.ValueType, trace_id: str) -> None:
        """One row that was not skipped."""
        calls = self._calls.get(status)
        if calls is None:
            calls = self._calls[status] = LANE_CALLS.of(self._name, _word(LaneStatus.Name(status)))
        calls.value += 1.0
        if budget_ms := row.budget_ms:
            elapsed_ms = row.elapsed_ms
            self._seconds.observe(elapsed_ms / 1000, trace_id)
            self._share.observe(elapsed_ms / budget_ms)
        if use := row.cache:
            self._use(use).value += 1.0

    def _use(self, use: CacheUse.ValueType) -> Tally:
        uses = self._uses.get(use)
        if uses is None:
            uses = self._uses[use] = CACHE_USES.of(self._name, _word(CacheUse.Name(use)))
        return uses


_lane = cache(_Lane)


def _word(name: str) -> str:
    """`LANE_STATUS_OK` as `ok`, `CACHE_USE_HIT` as `hit`, `BREAKER_STATE_HALF_OPEN` as it is told."""
    return name.split("_", 2)[2].lower()


@cache
def _answered(mode: str, degradation: Degradation.ValueType) -> Tally:
    return QUERIES.of(mode, Degradation.Name(degradation).removeprefix("DEGRADATION_").lower())


_took = cache(QUERY_SECONDS.of)


def count_answer(mode: str, reply: SearchResponse, trace_id: str) -> None:
    """One query that was answered; `trace_id` when somebody can look at its trace."""
    _answered(mode, reply.degradation).value += 1.0
    _took(mode).observe(reply.elapsed_ms / 1000, trace_id)
    figures = reply.metrics
    _PLANNING.observe(figures.planning_ms / 1000)
    _LANES.observe(figures.lanes_ms / 1000)
    _FUSION.observe(figures.fusion_ms / 1000)
    for row in reply.ledger:
        status = row.status
        if status != LANE_STATUS_SKIPPED:
            _lane(row.lane).add(row, status, trace_id)
    if figures.fallbacks:
        _count_fallbacks(reply)
    if reason := reply.fusion_error:
        FUSION_LOST.of(reason).inc()


def _count_fallbacks(reply: SearchResponse) -> None:
    for row in reply.ledger:
        if row.fallback_for:
            FALLBACKS.of(row.fallback_for, row.lane).inc()


def breaker_turned(lane: str, state: BreakerState.ValueType) -> None:
    """A lane's breaker changed its state."""
    BREAKERS.of(lane).set(_LEVELS[state])
    if state == BREAKER_STATE_OPEN:
        BREAKERS_OPENED.of(lane).inc()
        log.warning("breaker opened", extra={"lane": lane})
