"""Constraints become filters and limits of each lane. Pure; the query text is never touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import Constraints, Filters
from lanemesh.v1.search_pb2 import SearchRequest

from services.runtime.registry import CostRow, DepthRow, LaneRow, Table

_COSTS = {lane_pb2.COST_LOW: "low", lane_pb2.COST_MEDIUM: "medium", lane_pb2.COST_HIGH: "high"}
_DEPTHS = {
    lane_pb2.DEPTH_SIMPLE: "simple",
    lane_pb2.DEPTH_TECHNICAL: "technical",
    lane_pb2.DEPTH_RESEARCH: "research",
}
_TIME_RANGES = {lane_pb2.TIME_RANGE_RECENT: "recent", lane_pb2.TIME_RANGE_FIVE_YEARS: "five_years"}
# How deep a mode searches when the caller sets no depth.
_DEPTH_OF_MODE = {"simple": "simple", "technical": "technical", "research": "research", "multimedia": "research"}
# Sources that choose lanes and are no property of a document.
_ROUTING_SOURCES = {"financial"}


@dataclass(frozen=True, slots=True)
class Bound:
    """What the constraints of one query mean."""

    depth_name: str
    depth: DepthRow
    # Set only when the caller asked for that depth; the mode alone does not limit results.
    depth_asked: bool
    cost: CostRow
    cost_asked: bool

    def max_results(self, lane: LaneRow) -> int:
        """The smallest of the lane's own maximum, what the depth allows and what the cost allows."""
        limits = [lane.max_results[self.depth_name]]
        if self.depth_asked:
            limits.append(self.depth.results)
        if self.cost_asked:
            limits.append(self.cost.results)
        return min(limits)


def bind(constraints: Constraints, mode: str, table: Table) -> Bound:
    """Reads cost and depth in the table's terms."""
    depth = _DEPTHS.get(constraints.depth, _DEPTH_OF_MODE[mode])
    cost = _COSTS.get(constraints.cost, "medium")
    return Bound(
        depth_name=depth,
        depth=table.depths[depth],
        depth_asked=constraints.depth in _DEPTHS,
        cost=table.costs[cost],
        cost_asked=constraints.cost in _COSTS,
    )


def filters(request: SearchRequest, lane: LaneRow, table: Table, now: datetime, labels: Sequence[str] = ()) -> Filters:
    """What the lane's engine must apply; `labels` are those the caller holds."""
    if not request.projects and not request.HasField("constraints"):
        return Filters(access_labels=labels)
    constraints = request.constraints
    bound = Filters(
        projects=request.projects,
        sources=[source for source in constraints.sources if source not in _ROUTING_SOURCES],
        language=constraints.language,
        access_labels=labels,
    )
    after = _earliest(constraints, lane, table, now)
    if after is not None:
        bound.published_after.CopyFrom(after)
    if constraints.HasField("published_before"):
        bound.published_before.CopyFrom(constraints.published_before)
    return bound


def _earliest(constraints: Constraints, lane: LaneRow, table: Table, now: datetime) -> Timestamp | None:
    """The later of what the time range and the explicit bound allow."""
    bounds: list[Timestamp] = []
    if constraints.time_range in _TIME_RANGES:
        row = table.time_ranges[_TIME_RANGES[constraints.time_range]]
        instant = Timestamp()
        instant.FromDatetime(now - timedelta(days=row.news_days if lane.name == "news" else row.days))
        bounds.append(instant)
    if constraints.HasField("published_after"):
        bounds.append(constraints.published_after)
    return max(bounds, key=Timestamp.ToNanoseconds, default=None)


def effects(constraints: Constraints, bound: Bound) -> list[str]:
    """What each constraint changed, one sentence each."""
    said: list[str] = []
    if constraints.time_range in _TIME_RANGES:
        said.append(f"time_range {_TIME_RANGES[constraints.time_range]}: older documents are filtered out in each lane")
    if constraints.HasField("published_after"):
        said.append("published_after: earlier documents are filtered out in each lane")
    if constraints.HasField("published_before"):
        said.append("published_before: later documents are filtered out in each lane")
    if constraints.sources:
        said.append(f"sources {', '.join(constraints.sources)}: other sources are filtered out in each lane")
    if bound.cost_asked:
        said.append(f"cost: at most {bound.cost.results} results a lane, time × {bound.cost.time_factor:g}")
    if bound.depth_asked:
        said.append(f"depth: at most {bound.depth.results} results a lane, search depth {bound.depth.search_depth}")
    if constraints.citations_required:
        said.append("citations_required: sentences without support are left out")
    if constraints.language:
        said.append(f"language {constraints.language}: other languages are filtered out in each lane")
    return said
