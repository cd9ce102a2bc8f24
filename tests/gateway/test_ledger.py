"""The account of a query, from outcomes alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import LaneStatus, LinkedEntity, ProviderAttempt, RetrieveResponse
from lanemesh.v1.search_pb2 import Degradation, LedgerRow, SearchRequest, SearchResponse

from gateway import ledger, plan
from gateway.fanout import Outcome
from tests.support import TABLE, evidence

ALL = TABLE.only(set(TABLE.lanes))


def outcome(lane: str = "vector", status: Any = lane_pb2.LANE_STATUS_OK, **fields: Any) -> Outcome:
    known = {"reason": "", "message": "", "budget_ms": 100.0, "started_ms": 1.0, "elapsed_ms": 50.0, "reply": None}
    return Outcome(**{"lane": lane, "status": status, **known} | fields)


def entry(status: str, **fields: Any) -> LedgerRow:
    return LedgerRow(status=LaneStatus.Value(f"LANE_STATUS_{status}"), **fields)


def level(*entries: LedgerRow, fused: bool = True) -> str:
    return Degradation.Name(ledger.degradation(entries, fused)).removeprefix("DEGRADATION_")


def test_every_lane_of_the_table_has_one_row_in_its_order() -> None:
    planned = plan.make(SearchRequest(query="why"), ALL, 5000.0, 0.0, datetime(2026, 3, 1, tzinfo=UTC))
    rows = ledger.rows(planned, [outcome("kg"), outcome("web")])
    assert [row.lane for row in rows] == list(TABLE.lanes)


def test_a_lane_that_was_not_asked_says_why() -> None:
    request = SearchRequest(query="why", exclude_lanes=["kg"])
    planned = plan.make(request, ALL, 60.0, 0.0, datetime(2026, 3, 1, tzinfo=UTC))
    rows = {row.lane: row for row in ledger.rows(planned, [])}
    assert (rows["kg"].status, rows["kg"].reason) == (lane_pb2.LANE_STATUS_SKIPPED, "EXCLUDED")
    assert (rows["web"].status, rows["web"].reason) == (lane_pb2.LANE_STATUS_BYPASSED, plan.NOT_ENOUGH_TIME)
    assert all(rows[lane].message for lane in ("kg", "web"))


def test_a_row_carries_what_the_lane_reported() -> None:
    reply = RetrieveResponse(
        evidence=[evidence("a"), evidence("b")],
        total_found=7,
        cache=lane_pb2.CACHE_USE_HIT,
        engine="fake",
        elapsed_ms=40.0,
        attempts=[ProviderAttempt(provider="brave")],
        entities=[LinkedEntity(mention="Kelp")],
    )
    row = ledger.row(outcome(reply=reply))
    assert (row.returned, row.total_found, row.cache) == (2, 7, lane_pb2.CACHE_USE_HIT)
    assert (row.engine, row.lane_ms, row.elapsed_ms, row.budget_ms, row.started_ms) == ("fake", 40.0, 50.0, 100.0, 1.0)
    assert [attempt.provider for attempt in row.attempts] == ["brave"]
    assert [entity.mention for entity in row.entities] == ["Kelp"]


def test_a_lane_without_a_reply_returned_nothing() -> None:
    row = ledger.row(outcome(status=lane_pb2.LANE_STATUS_ERROR, reason="BAD_REPLY", message="no"))
    assert (row.status, row.reason, row.message, row.returned) == (lane_pb2.LANE_STATUS_ERROR, "BAD_REPLY", "no", 0)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["OK"], "L0"),
        (["OK", "EMPTY", "SKIPPED"], "L0"),
        (["EMPTY"], "L0"),
        (["OK", "PARTIAL"], "L1"),
        (["OK", "ERROR"], "L1"),
        (["OK", "TIMEOUT"], "L1"),
        (["OK", "BYPASSED"], "L1"),
        (["PARTIAL"], "L1"),
        (["OK", "PARTIAL", "ERROR"], "L2"),
        (["PARTIAL", "PARTIAL"], "L2"),
        (["ERROR"], "L4"),
        (["ERROR", "TIMEOUT", "BYPASSED", "SKIPPED"], "L4"),
        (["SKIPPED"], "L4"),
        ([], "L4"),
    ],
)
def test_degradation_counts_lanes_partial_or_lost(statuses: list[str], expected: str) -> None:
    assert level(*map(entry, statuses)) == expected


def test_a_lost_fusion_is_worth_several_lanes() -> None:
    assert level(entry("OK"), fused=False) == "L2"
    assert level(entry("ERROR"), fused=False) == "L4"


@pytest.mark.parametrize("fields", [{"cache": lane_pb2.CACHE_USE_STALE}, {"fallback_for": "vector"}])
def test_only_stale_or_fallback_evidence_is_l3(fields: Mapping[str, Any]) -> None:
    stood_in = entry("OK", returned=1, **fields)
    assert level(stood_in, entry("ERROR")) == "L3"
    assert level(stood_in, entry("ERROR"), entry("EMPTY")) == "L3"
    assert level(stood_in, entry("ERROR"), entry("OK", returned=1)) == "L1"


def test_metrics_count_rows() -> None:
    counted = ledger.metrics(
        [
            entry("OK", budget_ms=100, elapsed_ms=50, cache=lane_pb2.CACHE_USE_HIT),
            entry("EMPTY", budget_ms=100, elapsed_ms=10),
            entry("PARTIAL", budget_ms=200, elapsed_ms=190, fallback_for="kg"),
            entry("TIMEOUT", budget_ms=100, elapsed_ms=101),
            entry("ERROR", budget_ms=100, elapsed_ms=1),
            entry("SKIPPED"),
        ]
    )
    assert (counted.lanes_asked, counted.lanes_answered, counted.timeouts) == (5, 3, 1)
    assert (counted.fallbacks, counted.cache_hits) == (1, 1)
    assert counted.budget_utilisation == pytest.approx(1.01)


def test_metrics_of_nothing_are_zero() -> None:
    assert ledger.metrics([]).budget_utilisation == 0.0


def reply(
    *waits: tuple[float, float], planning: float = 1.0, fusion: tuple[float, float] = (5.0, 4.0)
) -> SearchResponse:
    """A reply whose lanes took and reported so many milliseconds."""
    said = SearchResponse(ledger=[entry("OK", budget_ms=300, elapsed_ms=took, lane_ms=own) for took, own in waits])
    said.metrics.planning_ms, said.metrics.fusion_ms, said.fusion.elapsed_ms = 1.0, 5.0, 4.0
    return said


def test_a_querys_own_time_leaves_out_what_lanes_and_fusion_worked() -> None:
    assert ledger.own_seconds(reply((103.0, 100.0), (53.0, 50.0))) == pytest.approx(0.001 + 0.003 + 0.001)


def test_a_few_lanes_that_hang_are_not_the_gateways_time() -> None:
    assert ledger.own_seconds(reply((3.0, 1.0), (300.0, 0.0))) == pytest.approx(0.004)
    assert ledger.own_seconds(reply((3.0, 1.0), (3.0, 1.0), (300.0, 0.0), (300.0, 0.0))) == pytest.approx(0.004)


def test_most_lanes_waiting_is() -> None:
    assert ledger.own_seconds(reply((3.0, 1.0), (290.0, 1.0), (300.0, 0.0))) == pytest.approx(0.291)


def test_lanes_that_were_not_asked_have_no_share() -> None:
    rows = [entry("ERROR"), entry("OK", budget_ms=200, elapsed_ms=50)]
    assert ledger.budget_shares(rows) == [0.25]
    assert ledger.own_seconds(SearchResponse(ledger=rows[:1])) == 0.0
