"""What the trace of a query must look like: the table of edges, and the checks of a graph against it and the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from lanemesh.v1.lane_pb2 import AttemptOutcome, CacheUse, LaneStatus, ProviderTier
from lanemesh.v1.search_pb2 import Degradation, LedgerRow, SearchResponse

from services.runtime.registry import load_table
from tests.trace.graph import Graph, Span

SERVER, CLIENT, INTERNAL = 2, 3, 1
LANES = tuple(load_table().lanes)
PROVIDED = ("web", "news", "markets")
# A clock that is read by two processes, or by one in two ways, may differ by so much, ns.
TOLERANCE = 2_000_000
# So often as the question has entities, or words to look up.
MANY = 100

# parent -> child: kind of the child, fewest and most of them below one parent. Nothing else may be in a trace.
EDGES: dict[tuple[str, str], tuple[int, int, int]] = {
    ("client: client Search", "gateway: SearchService/Search"): (SERVER, 1, 1),
    ("gateway: SearchService/Search", "gateway: plan"): (INTERNAL, 1, 1),
    ("gateway: SearchService/Search", "gateway: fuse"): (CLIENT, 0, 1),
    ("gateway: SearchService/StreamSearch", "gateway: plan"): (INTERNAL, 1, 1),
    ("gateway: SearchService/StreamSearch", "gateway: fuse"): (CLIENT, 0, 1),
    ("gateway: fuse", "fusion: FusionService/Fuse"): (SERVER, 1, 1),
    ("fusion: FusionService/Fuse", "fusion: identity"): (INTERNAL, 1, 1),
    ("fusion: FusionService/Fuse", "fusion: rank"): (INTERNAL, 1, 1),
    ("fusion: FusionService/Fuse", "fusion: synthesise"): (INTERNAL, 0, 1),
    ("fusion: FusionService/Fuse", "fusion: cite"): (INTERNAL, 0, 1),
    ("fusion: FusionService/Fuse", "fusion: disagree"): (INTERNAL, 0, 1),
    ("vector: LaneService/Retrieve", "vector: embed"): (INTERNAL, 1, 1),
    ("vector: LaneService/Retrieve", "vector: engine nearest"): (CLIENT, 1, 1),
    ("vector: LaneService/Retrieve", "vector: engine documents"): (CLIENT, 0, 1),
    ("keyword: LaneService/Retrieve", "keyword: engine search"): (CLIENT, 1, 2),
    ("kg: LaneService/Retrieve", "kg: engine link"): (CLIENT, 1, 1),
    ("kg: LaneService/Retrieve", "kg: engine spokes"): (CLIENT, 0, MANY),
    ("kg: LaneService/Retrieve", "kg: engine expand"): (CLIENT, 0, MANY),
    ("kg: LaneService/Retrieve", "kg: engine paths"): (CLIENT, 0, MANY),
    ("kg: LaneService/Retrieve", "kg: engine projects"): (CLIENT, 0, MANY),
    ("kg: LaneService/Retrieve", "kg: engine documents"): (CLIENT, 0, MANY),
    ("local: LaneService/Retrieve", "local: engine refresh"): (CLIENT, 0, 1),
    ("local: LaneService/Retrieve", "local: engine search"): (CLIENT, 1, 1),
    ("preflight: LaneService/Retrieve", "preflight: engine vocabulary"): (CLIENT, 1, MANY),
}
for _lane in LANES:
    EDGES["gateway: SearchService/Search", f"gateway: lane {_lane}"] = (CLIENT, 0, 2)
    EDGES["gateway: SearchService/StreamSearch", f"gateway: lane {_lane}"] = (CLIENT, 0, 2)
    EDGES[f"gateway: lane {_lane}", f"{_lane}: LaneService/Retrieve"] = (SERVER, 1, 2)
# The providers of a lane are many and depend on the question; the ledger says which there must be.
ANY_PROVIDER = {f"{lane}: LaneService/Retrieve": f"{lane}: provider " for lane in PROVIDED}


def shape(graph: Graph, root: str, hung: Collection[str] = ()) -> list[str]:
    """What is wrong with the shape of a trace; below a lane that hung anything may be missing or late."""
    tops = [span.node for span in graph.spans if not span.parent]
    problems = [] if tops == [root] else [f"the roots are {tops}, not {root}"]
    problems += [f"orphan: {span}" for span in graph.orphans()]
    problems += [
        f"unknown edge: {parent.node} -> {child.node}" for parent, child in graph.edges() if _unknown(parent, child)
    ]
    problems += [f"wrong kind: {child}" for parent, child in graph.edges() if child.kind != _kind(parent, child)]
    problems += [problem for span in graph.spans if not _beneath(span, hung) for problem in _counts(graph, span)]
    return problems + _clocks(graph, hung)


def _unknown(parent: Span, child: Span) -> bool:
    if (parent.node, child.node) in EDGES:
        return False
    provider = ANY_PROVIDER.get(parent.node)
    return provider is None or not child.node.startswith(provider)


def _kind(parent: Span, child: Span) -> int:
    return EDGES.get((parent.node, child.node), (CLIENT, 0, 0))[0]


def _counts(graph: Graph, parent: Span) -> Iterable[str]:
    """A call that was given up may have ended before anything came of it."""
    given_up = (
        parent.attributes.get("status") == "CANCELLED"
        or parent.attributes.get("rpc.response.status_code") == "CANCELLED"
    )
    found = Counter(child.node for child in graph.below(parent))
    for (above, below), (_, fewest, most) in EDGES.items():
        if above == parent.node and not (0 if given_up else fewest) <= found[below] <= most:
            yield f"{parent.node} has {found[below]} of {below}, expected {fewest} to {most}"


def _clocks(graph: Graph, hung: Collection[str]) -> list[str]:
    problems = [f"ends before it begins: {span}" for span in graph.spans if span.end < span.start]
    for parent, child in graph.edges():
        early, late = parent.start - child.start, child.end - parent.end
        # A lane that hung ends its own part when it can.
        if early > TOLERANCE or (late > TOLERANCE and not _beneath(parent, hung)):
            problems.append(f"{child} begins {early / 1e6} ms before, ends {late / 1e6} ms after {parent}")
    return problems


def _beneath(span: Span, hung: Collection[str]) -> bool:
    return span.process in hung or span.name in {f"lane {lane}" for lane in hung}


def against_ledger(graph: Graph, reply: SearchResponse) -> list[str]:
    """Where the trace and the reply's ledger do not say exactly the same."""
    problems = []
    told: dict[str, list[Span]] = {}
    for span in graph.spans:
        if span.attributes.get("ledger_row"):
            told.setdefault(span.name, []).append(span)
    asked = [row for row in reply.ledger if row.budget_ms > 0]
    if sorted(told) != sorted(f"lane {row.lane}" for row in asked):
        problems.append(f"the trace tells of {sorted(told)}, the ledger of {[row.lane for row in asked]}")
    for row in asked:
        for span in (spans := told.get(f"lane {row.lane}", [])):
            problems += _differ(f"lane {row.lane}", _of_row(row), span.attributes)
            problems += _attempts(graph, span, row)
        if len(spans) > 1:
            problems.append(f"lane {row.lane} has {len(spans)} spans that say they are the ledger's row")
    asking = [span for span in graph.spans if span.name.startswith("SearchService/")]
    if len(asking) != 1:
        return [*problems, f"the trace has {len(asking)} spans of the gateway's own"]
    return problems + _differ(asking[0].name, _of_reply(reply), asking[0].attributes)


def _attempts(graph: Graph, span: Span, row: LedgerRow) -> list[str]:
    """Each provider attempt of the row is a span, and each span an attempt."""
    spans = [each for served in graph.below(span) for each in graph.below(served) if each.name.startswith("provider ")]
    found = [tuple(each.attributes.get(name) for name in ("provider", "tier", "outcome", "results")) for each in spans]
    expected = [
        (
            attempt.provider,
            ProviderTier.Name(attempt.tier).removeprefix("PROVIDER_TIER_"),
            AttemptOutcome.Name(attempt.outcome).removeprefix("ATTEMPT_OUTCOME_"),
            attempt.results,
        )
        for attempt in row.attempts
    ]
    return (
        [] if sorted(found) == sorted(expected) else [f"lane {row.lane}: attempts {found}, the ledger has {expected}"]
    )


def _differ(what: str, expected: dict[str, Any], found: Any) -> list[str]:
    """An attribute that would say nothing is not there."""
    return [
        f"{what}: {name} is {found.get(name)!r}, not {value!r}"
        for name, value in expected.items()
        if (found.get(name) or "") != (value or "")
    ]


def _of_row(row: LedgerRow) -> dict[str, Any]:
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
        "scope": list(row.scope),
    }


def _of_reply(reply: SearchResponse) -> dict[str, Any]:
    metrics = reply.metrics
    return {
        "degradation": Degradation.Name(reply.degradation).removeprefix("DEGRADATION_"),
        "deadline_ms": reply.plan.deadline_ms,
        "elapsed_ms": reply.elapsed_ms,
        "query_types": list(reply.plan.query_types),
        "lanes_asked": metrics.lanes_asked,
        "lanes_answered": metrics.lanes_answered,
        "timeouts": metrics.timeouts,
        "fallbacks": metrics.fallbacks,
        "cache_hits": metrics.cache_hits,
        "results": len(reply.results),
        "sentences": len(reply.sentences),
        "conflicts": len(reply.disagreements),
        "fusion_error": reply.fusion_error,
    }
