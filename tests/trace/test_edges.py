"""The checks of a trace find what is wrong with it; needs no Jaeger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lanemesh.v1.lane_pb2 import ATTEMPT_OUTCOME_OK, LANE_STATUS_OK, PROVIDER_TIER_KEYED, ProviderAttempt
from lanemesh.v1.search_pb2 import DEGRADATION_L0, LedgerRow, QueryMetrics, SearchResponse

from tests.trace.edges import CLIENT, INTERNAL, SERVER, against_ledger, shape
from tests.trace.graph import Graph, Span, read

ROOT = "gateway: SearchService/Search"
MS = 1_000_000


def span(node: str, identity: str, parent: str, kind: int, start: int, end: int, **said: Any) -> Span:
    process, _, name = node.partition(": ")
    return Span(process, name, identity, parent, kind, start * MS, end * MS, False, said)


ATTEMPT = {"provider": "brave", "tier": "KEYED", "outcome": "OK", "results": 2}
TOLD = {"lane": "web", "status": "OK", "budget_granted_ms": 1000.0, "budget_spent_ms": 7.25, "results": 2, "lane_ms": 5}
SPANS = (
    span(ROOT, "root", "", SERVER, 0, 10, degradation="L0", elapsed_ms=9.5, lanes_asked=1),
    span("gateway: plan", "plan", "root", INTERNAL, 0, 1),
    span("gateway: lane web", "web", "root", CLIENT, 1, 9, ledger_row=True, **TOLD),
    span("web: LaneService/Retrieve", "served", "web", SERVER, 2, 8, status="OK"),
    span("web: provider brave", "brave", "served", CLIENT, 3, 7, **ATTEMPT),
)
REPLY = SearchResponse(
    degradation=DEGRADATION_L0,
    elapsed_ms=9.5,
    metrics=QueryMetrics(lanes_asked=1),
    ledger=[
        LedgerRow(
            lane="web",
            status=LANE_STATUS_OK,
            budget_ms=1000.0,
            elapsed_ms=7.25,
            returned=2,
            lane_ms=5,
            attempts=[
                ProviderAttempt(provider="brave", tier=PROVIDER_TIER_KEYED, outcome=ATTEMPT_OUTCOME_OK, results=2)
            ],
        ),
        LedgerRow(lane="kg"),
    ],
)


def graph(**changes: Any) -> Graph:
    """The sound trace with some spans changed, by their identity; None leaves one out."""
    changed = {each.identity: each for each in SPANS} | {
        name: change and replace(next(each for each in SPANS if each.identity == name), **change)
        for name, change in changes.items()
    }
    return Graph([each for each in changed.values() if each])


def test_a_sound_trace_has_no_problems() -> None:
    assert shape(graph(), ROOT) == []
    assert against_ledger(graph(), REPLY) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"served": None}, "orphan: web: provider brave"),
        ({"served": None, "brave": None}, "gateway: lane web has 0 of web: LaneService/Retrieve"),
        ({"plan": {"parent": ""}}, "the roots are"),
        ({"brave": {"parent": "root"}}, "unknown edge: gateway: SearchService/Search -> web: provider brave"),
        ({"brave": {"process": "kg"}}, "unknown edge: web: LaneService/Retrieve -> kg: provider brave"),
        ({"plan": {"kind": SERVER}}, "wrong kind: gateway: plan"),
        ({"brave": {"end": 12 * MS}}, "web: provider brave"),
        ({"brave": {"start": 4 * MS, "end": 3 * MS}}, "ends before it begins"),
        ({"web": {"start": 5 * MS}}, "begins 3.0 ms before"),
    ],
)
def test_a_wrong_shape_is_found(changes: dict[str, Any], problem: str) -> None:
    assert any(problem in each for each in shape(graph(**changes), ROOT)), shape(graph(**changes), ROOT)


def test_below_a_lane_that_hung_anything_may_be_late_or_missing() -> None:
    late = graph(served={"end": 50 * MS}, brave=None)
    assert shape(late, ROOT) != []
    assert shape(late, ROOT, hung=("web",)) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"web": {"attributes": TOLD}}, "the trace tells of []"),
        ({"web": {"attributes": {"ledger_row": True} | TOLD | {"budget_spent_ms": 7.3}}}, "budget_spent_ms is 7.3"),
        ({"web": {"attributes": {"ledger_row": True} | TOLD | {"status": "PARTIAL"}}}, "status is 'PARTIAL'"),
        ({"web": {"attributes": {"ledger_row": True} | TOLD | {"fallback_for": "kg"}}}, "fallback_for is 'kg'"),
        ({"brave": {"attributes": ATTEMPT | {"outcome": "EMPTY"}}}, "lane web: attempts"),
        ({"brave": None}, "lane web: attempts []"),
        (
            {"plan": {"attributes": {"ledger_row": True}, "name": "lane kg"}},
            "tells of ['lane kg', 'lane web']",
        ),
        ({"root": {"attributes": {"degradation": "L1"}}}, "degradation is 'L1'"),
        ({"root": {"name": "plan"}}, "0 spans of the gateway's own"),
    ],
)
def test_a_figure_that_is_not_the_ledgers_is_found(changes: dict[str, Any], problem: str) -> None:
    found = against_ledger(graph(**changes), REPLY)
    assert any(problem in each for each in found), found


def test_jaegers_reply_is_read_with_its_types() -> None:
    raw = {
        "name": "lane kg",
        "spanId": "b",
        "parentSpanId": "a",
        "kind": 3,
        "startTimeUnixNano": "1795034841159946725",
        "endTimeUnixNano": "1795034841161340592",
        "status": {"code": 2},
        "events": [{"name": "hedge"}],
        "attributes": [
            {"key": "lanemesh.results", "value": {"intValue": "5"}},
            {"key": "lanemesh.hedged", "value": {"boolValue": True}},
            {"key": "lanemesh.scope", "value": {"arrayValue": {"values": [{"stringValue": "auth"}]}}},
            {"key": "error.type", "value": {"stringValue": "OSError"}},
        ],
    }
    name = {"key": "service.name", "value": {"stringValue": "gateway"}}
    scopes = {"resource": {"attributes": [name]}, "scopeSpans": [{"spans": [raw]}]}
    (found,) = read({"result": {"resourceSpans": [scopes]}}).spans
    assert (found.node, found.identity, found.parent, found.kind) == ("gateway: lane kg", "b", "a", 3)
    assert found.end - found.start == 1_393_867
    assert found.attributes == {"results": 5, "hedged": True, "scope": ["auth"], "error.type": "OSError"}
    assert (found.failed, found.events) == (True, ["hedge"])
