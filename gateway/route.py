"""Which lanes a question is put to, and why each. Pure; the rules are the `routing` table, not code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from lanemesh.v1.search_pb2 import SearchRequest

from gateway.classify import Classification
from services.runtime.registry import RoutingRow, Table

PREFLIGHT = "preflight"
# Puts a lane on the route, with the reason; the first reason stands.
Put = Callable[[Iterable[str], str], None]


def choose(request: SearchRequest, classified: Classification, mode: str, table: Table) -> Mapping[str, str]:
    """The lanes to ask, each with its reason; lanes that are not part of the mesh have given way to others."""
    if request.include_lanes:
        return dict.fromkeys(request.include_lanes, "named by the request")
    wanted: dict[str, str] = {}

    def put(lanes: Iterable[str], why: str) -> None:
        for lane in lanes:
            wanted.setdefault(lane, why)

    _wanted(request, classified, mode, table.routing, put)
    route = _present(wanted, request, table)
    return route | {PREFLIGHT: "advises beside every question"}


def _wanted(request: SearchRequest, classified: Classification, mode: str, routing: RoutingRow, put: Put) -> None:
    primary = classified.types[0] if classified.types else ""
    routed = [source for source in request.constraints.sources if source in routing.sources]
    for source in routed:
        put(routing.sources[source], f"evidence of the source {source} is asked for")
    if not routed:
        _by_type(primary, routing, put)
    if primary in routing.closed and not routed:
        return
    for cue, why in _added(request, classified, bool(routed)):
        put(routing.cues.get(cue, ()), why)
    put(routing.modes.get(mode, ()), f"part of {mode} mode")


def _by_type(primary: str, routing: RoutingRow, put: Put) -> None:
    if primary in routing.types:
        put(routing.types[primary], f"answers {primary} questions")
    else:
        put(routing.otherwise, "answers ordinary questions")
    for lane in routing.types.get(primary, routing.otherwise):
        put(routing.joins.get(lane, ()), f"joins {lane}")


def _added(request: SearchRequest, classified: Classification, routed: bool) -> Iterator[tuple[str, str]]:
    """The cues that add lanes; chosen sources leave room only for what the client sent along."""
    if request.context:
        yield "context", "context came with the question"
    if routed:
        return
    if classified.news:
        yield "news", "the question asks for news"
    if classified.finance:
        yield "finance", "the question is about markets"
    if classified.entities:
        yield "entity", f"the question names {classified.entities[0][:60]}"


def _present(wanted: Mapping[str, str], request: SearchRequest, table: Table) -> dict[str, str]:
    """The wanted lanes that can run; for one that cannot, the first of its fallbacks that can."""
    route: dict[str, str] = {}
    for lane, why in wanted.items():
        stand_in = _stand_in(lane, request, table)
        if stand_in == lane:
            route[lane] = why
        elif stand_in and stand_in not in wanted:
            route.setdefault(stand_in, f"stands in for {lane}, which is not to be had")
    if not route:
        everyone = (row.name for row in table.enabled() if row.name != PREFLIGHT and _may_run(row.name, request, table))
        return dict.fromkeys(everyone, "no lane made for this question is to be had")
    # A lane that cannot run keeps its reason, so that the plan can say what was wanted of it.
    return route | {lane: why for lane, why in wanted.items() if lane not in route}


def _stand_in(lane: str, request: SearchRequest, table: Table) -> str:
    seen: set[str] = set()
    while lane and lane not in seen:
        if _may_run(lane, request, table):
            return lane
        seen.add(lane)
        lane = table.lanes[lane].fallback
    return ""


def _may_run(lane: str, request: SearchRequest, table: Table) -> bool:
    return table.lanes[lane].enabled and lane not in request.exclude_lanes
