"""Which lanes run, why the others do not, and what each is granted. A plan that is only explained runs nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from lanemesh.v1 import lane_pb2, search_pb2
from lanemesh.v1.lane_pb2 import Constraints, ContextItem
from lanemesh.v1.search_pb2 import LanePlan, PlanRequest, SearchRequest

from gateway import plan
from services.runtime.registry import Table
from tests.gateway.reading import tuned
from tests.support import TABLE, FakeLane, evidence, mesh

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ALL = TABLE.only(set(TABLE.lanes))


def make(left_ms: float = 5000.0, load: float = 0.0, table: Table = ALL, **fields: Any) -> plan.Planned:
    return plan.make(SearchRequest(query="why", **fields), table, left_ms, load, NOW)


def skipped(planned: plan.Planned) -> dict[str, str]:
    return {decision.row.name: decision.skip for decision in planned.decisions if decision.skip}


def entry(planned: plan.Planned, lane: str) -> LanePlan:
    (found,) = [row for row in planned.message.lanes if row.lane == lane]
    return found


def test_every_configured_lane_has_an_entry_in_table_order() -> None:
    for table in (ALL, TABLE, TABLE.only(set())):
        planned = make(table=table)
        assert [row.lane for row in planned.message.lanes] == list(TABLE.lanes)
        assert [decision.row.name for decision in planned.decisions] == list(TABLE.lanes)
        assert all(row.reason for row in planned.message.lanes)


def test_a_lane_outside_the_mesh_is_not_asked() -> None:
    planned = make(table=TABLE.only({"keyword", "local"}))
    assert [row.name for row in planned.asked()] == ["keyword", "local"]
    assert set(skipped(planned).values()) == {"LANE_DISABLED"}


def test_an_excluded_lane_is_not_asked_even_when_included() -> None:
    planned = make(include_lanes=["kg", "vector"], exclude_lanes=["kg"])
    assert [row.name for row in planned.asked()] == ["vector"]
    assert skipped(planned)["kg"] == "EXCLUDED"
    assert skipped(planned)["web"] == "NOT_INCLUDED"


def test_preflight_can_be_turned_off() -> None:
    assert skipped(make(skip_preflight=True)) == {"preflight": "TURNED_OFF"}
    assert skipped(make()) == {}


def test_only_lanes_that_fit_the_time_are_asked_and_the_others_are_bypassed() -> None:
    # A third of 60 ms is left for lanes.
    planned = make(60.0)
    assert [row.name for row in planned.asked()] == ["vector", "kg", "keyword", "local", "preflight"]
    late = [decision for decision in planned.decisions if decision.skip]
    assert {decision.skip for decision in late} == {plan.NOT_ENOUGH_TIME}
    assert all(decision.bypassed for decision in late)


def test_a_lane_that_is_not_wanted_is_not_called_too_slow() -> None:
    assert skipped(make(1.0, exclude_lanes=["kg"]))["kg"] == "EXCLUDED"


def test_what_is_not_asked_is_granted_nothing() -> None:
    planned = make(exclude_lanes=["kg"])
    assert entry(planned, "kg") == LanePlan(lane="kg", reason="excluded by the request", fallback="vector")


@pytest.mark.parametrize(
    ("cost", "load", "left_ms", "granted"),
    [
        (lane_pb2.COST_UNSPECIFIED, 0.0, 5000.0, 1000.0),
        (lane_pb2.COST_LOW, 0.0, 5000.0, 500.0),
        (lane_pb2.COST_HIGH, 0.0, 5000.0, 2000.0),
        (lane_pb2.COST_HIGH, 0.0, 1700.0, 1200.0),
        (lane_pb2.COST_MEDIUM, 0.9, 5000.0, 900.0),
        (lane_pb2.COST_LOW, 0.9, 5000.0, 450.0),
    ],
)
def test_a_plan_grants_the_budget_of_the_table(cost: Any, load: float, left_ms: float, granted: float) -> None:
    planned = make(left_ms, load, constraints=Constraints(cost=cost))
    assert entry(planned, "vector").budget_ms == granted


def test_a_plan_says_its_deadline_reserve_and_limits() -> None:
    message = make(7000.0, mode=lane_pb2.MODE_TECHNICAL, constraints=Constraints(cost=lane_pb2.COST_HIGH)).message
    assert (message.deadline_ms, message.reserve_ms, message.fusion_ms) == (7000.0, 700.0, 300.0)
    assert (message.mode, message.max_answer_tokens) == (lane_pb2.MODE_TECHNICAL, 5000)
    assert len(message.constraint_effects) == 1


def test_defaults_are_spelt_out() -> None:
    message = make().message
    assert message.mode == lane_pb2.MODE_SIMPLE
    assert message.max_results == 25
    assert message.scope_mode == search_pb2.SCOPE_MODE_PARALLEL_RESEARCH
    assert make(max_results=7).message.max_results == 7


def test_the_question_to_a_lane_is_the_clients_own() -> None:
    asked = SearchRequest(
        query="why  not?",
        mode=lane_pb2.MODE_TECHNICAL,
        constraints=Constraints(sources=["docs"], depth=lane_pb2.DEPTH_RESEARCH),
        projects=["orders"],
        context=[ContextItem(title="notes", text="seen before")],
    )
    planned = plan.make(asked, ALL, 7000.0, 0.0, NOW)
    question = plan.lane_request(asked, planned, ALL.lanes["kg"], ALL)
    assert (question.query, question.mode, question.constraints) == (asked.query, asked.mode, asked.constraints)
    assert (question.max_results, question.search_depth) == (20, 3)
    assert list(question.filters.projects) == ["orders"]
    assert list(question.context) == list(asked.context)


def test_the_same_request_at_the_same_instant_gives_the_same_plan() -> None:
    first, second = (make(constraints=Constraints(time_range=lane_pb2.TIME_RANGE_RECENT)) for _ in range(2))
    assert first.message.SerializeToString(deterministic=True) == second.message.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    ("mode", "whole", "budgets"),
    [
        (lane_pb2.MODE_UNSPECIFIED, 5000, {"vector": 1000, "keyword": 500, "local": 300}),
        (lane_pb2.MODE_SIMPLE, 5000, {"vector": 1000, "keyword": 500, "local": 300}),
        (lane_pb2.MODE_TECHNICAL, 7000, {"vector": 1500, "keyword": 750, "local": 500}),
        (lane_pb2.MODE_RESEARCH, 10000, {"vector": 2000, "keyword": 1000, "local": 800}),
        (lane_pb2.MODE_MULTIMEDIA, 10000, {"vector": 2000, "keyword": 1000, "local": 800}),
    ],
)
async def test_explaining_runs_nothing(mode: Any, whole: float, budgets: dict[str, float]) -> None:
    lanes = {name: FakeLane([evidence("a")]) for name in budgets}
    async with mesh(lanes) as running:
        reply = await running.search.Plan(PlanRequest(search=SearchRequest(query="why", mode=mode)))
    assert {row.lane: row.budget_ms for row in reply.plan.lanes if row.included} == budgets
    assert 0 < reply.plan.deadline_ms <= whole
    assert not any(lane.asked for lane in lanes.values())


async def test_a_plan_that_fits_nobody_is_still_explained() -> None:
    lane = FakeLane([evidence("a")])
    async with mesh({"keyword": lane}, table=tuned(keyword={"minimum_ms": 60_000})) as running:
        reply = await running.search.Plan(PlanRequest(search=SearchRequest(query="why")))
    assert not any(row.included for row in reply.plan.lanes)
    assert not lane.asked
