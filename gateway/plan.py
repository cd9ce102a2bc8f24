"""Which lanes are asked, for how long and for what. Pure: the same request at the same instant gives the same plan."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lanemesh.v1 import search_pb2
from lanemesh.v1.lane_pb2 import Mode, RetrieveRequest
from lanemesh.v1.search_pb2 import LanePlan, QueryPlan, SearchRequest

from gateway import budget, constraints, route
from gateway.classify import classify
from gateway.identity import ANYBODY, Caller
from services.runtime import modes
from services.runtime.registry import LaneRow, Table

NOT_ENOUGH_TIME = "BUDGET_TOO_SMALL"
NOT_PERMITTED = "NOT_PERMITTED"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a lane runs: an empty `skip` means yes, otherwise it is the machine-readable reason."""

    row: LaneRow
    skip: str
    why: str
    bypassed: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and what the gateway needs to carry it out."""

    mode: str
    bound: constraints.Bound
    decisions: list[Decision]
    message: QueryPlan
    factor: float
    # How hard the mesh is working, 0..1.
    load: float
    # When the plan was made, and for whom: what a stand-in's filters are made of.
    now: datetime
    caller: Caller

    def asked(self) -> list[LaneRow]:
        """The lanes to ask, in table order."""
        return [decision.row for decision in self.decisions if not decision.skip]


def make(
    request: SearchRequest, table: Table, left_ms: float, load: float, now: datetime, caller: Caller = ANYBODY
) -> Planned:
    """The plan for a valid request of this caller with `left_ms` to go."""
    mode = modes.name_of(request.mode)
    classified = classify(request.query)
    chosen = route.choose(request, classified, mode, caller.narrowed(table))
    bound = constraints.bind(request.constraints, mode, table)
    factor = bound.cost.time_factor * budget.load_factor(table, load)
    kept = budget.reserve(table, mode, left_ms)
    message = QueryPlan(
        mode=request.mode or Mode.MODE_SIMPLE,
        query_types=classified.types,
        cues=classified.cues,
        entities=classified.entities,
        deadline_ms=left_ms,
        reserve_ms=kept.total_ms,
        fusion_ms=kept.fusion_ms,
        max_results=request.max_results if request.HasField("max_results") else table.limits.default_results,
        max_answer_tokens=bound.cost.answer_tokens,
        scope_mode=request.scope_mode or search_pb2.SCOPE_MODE_PARALLEL_RESEARCH,
        constraint_effects=constraints.effects(request.constraints, bound),
    )
    decisions = []
    for row in table.lanes.values():
        granted = budget.lane_budget(row, mode, factor, left_ms, kept.total_ms)
        decision = _decide(request, row, granted, chosen.get(row.name, ""), load, table, caller)
        decisions.append(decision)
        message.lanes.append(_explain(request, decision, granted, bound, table, now, caller))
    return Planned(mode, bound, decisions, message, factor, load, now, caller)


def _decide(
    request: SearchRequest, row: LaneRow, granted: float, why: str, load: float, table: Table, caller: Caller
) -> Decision:
    if not row.enabled:
        return Decision(row, "LANE_DISABLED", "not part of this mesh")
    if not caller.may_use(row.name):
        return Decision(row, NOT_PERMITTED, f"not open to {caller.title}")
    if row.name in request.exclude_lanes:
        return Decision(row, "EXCLUDED", "excluded by the request")
    if request.include_lanes and row.name not in request.include_lanes:
        return Decision(row, "NOT_INCLUDED", "the request names other lanes")
    if row.name == route.PREFLIGHT and request.skip_preflight:
        return Decision(row, "TURNED_OFF", "turned off by the request")
    if row.name == route.PREFLIGHT and load > table.load.preflight_threshold:
        return Decision(row, "SYSTEM_PRESSURE", f"the mesh works at {load:.0%} of what it can", bypassed=True)
    if not why:
        return Decision(row, "NOT_ROUTED", "nothing in the question calls for it")
    if not budget.fits(row, granted):
        short = f"{granted:.0f} ms are left for lanes, it needs {row.minimum_ms:g}"
        return Decision(row, NOT_ENOUGH_TIME, short, bypassed=True)
    return Decision(row, "", why)


def _explain(
    request: SearchRequest,
    decision: Decision,
    granted: float,
    bound: constraints.Bound,
    table: Table,
    now: datetime,
    caller: Caller,
) -> LanePlan:
    row = decision.row
    if decision.skip:
        return LanePlan(lane=row.name, reason=decision.why, fallback=row.fallback)
    return LanePlan(
        lane=row.name,
        included=True,
        reason=decision.why,
        budget_ms=granted,
        max_results=bound.max_results(row),
        search_depth=bound.depth.search_depth,
        filters=constraints.filters(request, row, table, now, caller.labels),
        fallback=row.fallback,
    )


def lane_request(request: SearchRequest, planned: Planned, row: LaneRow, table: Table) -> RetrieveRequest:
    """The question to one lane, planned or standing in for one that was."""
    message = RetrieveRequest(
        query=request.query,
        mode=request.mode,
        max_results=planned.bound.max_results(row),
        search_depth=planned.bound.depth.search_depth,
        filters=constraints.filters(request, row, table, planned.now, planned.caller.labels),
        query_types=planned.message.query_types,
        entities=planned.message.entities,
        system_pressure=planned.load,
    )
    if request.HasField("constraints"):
        message.constraints.CopyFrom(request.constraints)
    if request.context:
        message.context.extend(request.context)
    return message
