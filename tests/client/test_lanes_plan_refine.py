from __future__ import annotations

import json

import pytest
from lanemesh.v1 import index_pb2, lane_pb2, search_pb2

HOSTILE = "\x1b[2J[red]x[/red]"


def lanes() -> search_pb2.ListLanesResponse:
    keyword = search_pb2.LaneInfo(
        name="keyword",
        serving=search_pb2.SERVING_READY,
        address="127.0.0.1:50056",
        stats=index_pb2.StatsResponse(documents=98),
        budgets_ms={"multimedia": 1000, "simple": 500, "technical": 750, "research": 1000},
    )
    kg = search_pb2.LaneInfo(name="kg", serving=search_pb2.SERVING_UNREACHABLE, message=f"connection refused {HOSTILE}")
    return search_pb2.ListLanesResponse(
        lanes=[keyword, kg], fusion=search_pb2.LaneInfo(name="fusion", serving=search_pb2.SERVING_NOT_READY)
    )


def test_lanes_is_a_table(gateway, run):
    gateway.replies["ListLanes"] = lanes()
    out = run("lanes").out
    lines = out.splitlines()
    assert lines[1].split() == ["keyword", "ready", "127.0.0.1:50056", "500/750/1000/1000", "98"]
    assert lines[2].split() == ["kg", "unreachable", "connection", "refused", "[red]x[/red]"]
    assert lines[3].split() == ["fusion", "not_ready"]
    assert "\x1b" not in out


def test_lanes_in_json(gateway, run):
    gateway.replies["ListLanes"] = lanes()
    reply = json.loads(run("lanes", "--json").out)
    assert [lane["serving"] for lane in reply["lanes"]] == ["READY", "UNREACHABLE"]
    assert reply["lanes"][0]["stats"]["documents"] == 98
    assert reply["fusion"]["serving"] == "NOT_READY"


def plan() -> search_pb2.PlanResponse:
    return search_pb2.PlanResponse(
        plan=search_pb2.QueryPlan(
            mode=lane_pb2.MODE_RESEARCH,
            query_types=["relationship"],
            entities=[f"OrderService{HOSTILE}"],
            deadline_ms=10000,
            reserve_ms=900,
            constraint_effects=["cost low halves the lane time"],
            lanes=[
                search_pb2.LanePlan(lane="kg", included=True, reason="an entity is named", budget_ms=2000),
                search_pb2.LanePlan(lane="news", reason="no news cue"),
            ],
        )
    )


def test_plan_explains(gateway, run):
    gateway.replies["Plan"] = plan()
    out = run("plan", "How?", "--mode", "research", "--cost", "low").out
    assert gateway.requests[0].search.constraints.cost == lane_pb2.COST_LOW
    for part in ("research", "relationship", "OrderService[red]x", "10000 ms, of which 900", "cost low halves"):
        assert part in out
    assert "\x1b" not in out
    rows = [line.split() for line in out.splitlines()]
    assert ["kg", "yes", "2000", "ms", "0", "an", "entity", "is", "named"] in rows
    assert ["news", "no", "no", "news", "cue"] in rows


def test_plan_in_json(gateway, run):
    gateway.replies["Plan"] = plan()
    reply = json.loads(run("plan", "How?", "--json").out)
    assert reply["plan"]["mode"] == "RESEARCH"
    assert [lane["included"] for lane in reply["plan"]["lanes"]] == [True, False]


def advice() -> search_pb2.RefineResponse:
    preflight = lane_pb2.Preflight(
        should_trigger=True,
        suggestions=[
            lane_pb2.Suggestion(
                title="Name the service",
                refined_query=f"How does OrderService retry? {HOSTILE}",
                type=lane_pb2.SUGGESTION_TYPE_REFINE,
                confidence=0.8,
                reason="The question names no service.",
            )
        ],
        chips=[lane_pb2.ConstraintChip(constraint="cost", options=["low", "high"], proposed="low")],
        personal_data=[lane_pb2.PersonalData(kind="email", redacted="[EMAIL]")],
        model="rules",
    )
    return search_pb2.RefineResponse(preflight=preflight)


def test_refine_advises(gateway, run):
    gateway.replies["Refine"] = advice()
    out = run("refine", "How are retries done?", "--mode", "technical").out
    assert gateway.requests[0].mode == lane_pb2.MODE_TECHNICAL
    for part in (
        "1. Name the service (refine, 0.80)",
        "How does OrderService retry? [red]x[/red]",
        "cost: low, high, proposed low",
        "personal data: email, shown as [EMAIL]",
        "rules",
    ):
        assert part in out
    assert "\x1b" not in out


def test_refine_says_when_preflight_did_not_run(gateway, run):
    gateway.replies["Refine"] = search_pb2.RefineResponse(preflight=lane_pb2.Preflight(bypass_reason="TURNED_OFF"))
    assert run("refine", "q").out == "Preflight did not run: TURNED_OFF\n"


def test_refine_in_json(gateway, run):
    gateway.replies["Refine"] = advice()
    reply = json.loads(run("refine", "q", "--json").out)
    assert reply["preflight"]["suggestions"][0]["type"] == "REFINE"


@pytest.mark.parametrize("command", [["lanes"], ["plan", "q"], ["refine", "q"]])
def test_all_of_them_keep_the_deadline(gateway, run, command):
    gateway.silent = True
    outcome = run(*command, "--deadline", "50", "--json")
    assert (outcome.code, outcome.out) == (4, "")
    assert json.loads(outcome.err)["error"]["code"] == "DEADLINE_EXCEEDED"
