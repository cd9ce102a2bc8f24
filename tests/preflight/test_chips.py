"""Constraints offered: those not chosen, with values a client can send, and proposals by the wording."""

from __future__ import annotations

import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import Constraints

from client.request import constraints as spelled

ALL = ["time_range", "sources", "citations_required", "cost", "depth"]


async def test_every_constraint_is_offered_once(ask) -> None:
    chips = (await ask("Who wrote Dune?")).preflight.chips
    assert [chip.constraint for chip in chips] == ALL
    assert not any(chip.proposed for chip in chips)


async def test_every_option_can_be_sent(ask) -> None:
    for chip in (await ask("Who wrote Dune?")).preflight.chips:
        for option in chip.options:
            value = {"sources": [option], "citations_required": option == "true"}.get(chip.constraint, option)
            spelled(**{chip.constraint: value})


@pytest.mark.parametrize(
    ("constraints", "left"),
    [
        (Constraints(time_range=lane_pb2.TIME_RANGE_ALL_TIME), ALL[1:]),
        (Constraints(sources=["news"]), [ALL[0], *ALL[2:]]),
        (Constraints(citations_required=True), [*ALL[:2], *ALL[3:]]),
        (Constraints(cost=lane_pb2.COST_LOW, depth=lane_pb2.DEPTH_SIMPLE), ALL[:3]),
    ],
)
async def test_what_is_chosen_is_not_offered(ask, constraints: Constraints, left: list[str]) -> None:
    chips = (await ask("Who wrote Dune?", constraints=constraints)).preflight.chips
    assert [chip.constraint for chip in chips] == left


@pytest.mark.parametrize(
    ("query", "constraint", "proposed"),
    [
        ("latest news about the election in France", "time_range", "recent"),
        ("How has air quality in Delhi changed?", "time_range", "5_years"),
        ("The history of the printing press", "time_range", "all_time"),
        ("peer-reviewed papers on sleep and memory", "sources", "academic"),
        ("breaking headlines on the storm in Texas", "sources", "news"),
        ("Tesla share price after earnings", "sources", "financial"),
        ("Where does the runbook describe failover?", "sources", "docs"),
        ("code example of a circuit breaker in Go", "sources", "code"),
        ("Does zinc shorten colds? With sources please", "citations_required", "true"),
        ("In one sentence, what is entropy in physics?", "cost", "low"),
        ("A comprehensive comparison of Raft and Paxos", "cost", "high"),
        ("Explain inflation in simple terms", "depth", "simple"),
        ("Which algorithm does PostgreSQL use for sorting?", "depth", "technical"),
        ("State of the art in protein folding", "depth", "research"),
    ],
)
async def test_the_wording_proposes(ask, query: str, constraint: str, proposed: str) -> None:
    chips = {chip.constraint: chip.proposed for chip in (await ask(query)).preflight.chips}
    assert chips[constraint] == proposed
