"""The real table holds the mesh's numbers, and a broken one says where it is broken."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.runtime.errors import StartupError
from services.runtime.registry import Table, load_table

VALUES = yaml.safe_load((Path(__file__).parents[2] / "helm" / "values.yaml").read_text())
MODES = ("simple", "technical", "research", "multimedia")
BUDGETS = {
    "web": (1000, 1500, 2000, 2000),
    "vector": (1000, 1500, 2000, 2000),
    "kg": (1000, 1500, 2000, 2000),
    "keyword": (500, 750, 1000, 1000),
    "news": (300, 500, 800, 800),
    "markets": (300, 500, 800, 800),
    "local": (300, 500, 800, 800),
    "preflight": (500, 500, 500, 500),
}
MAX_RESULTS = {
    "web": (20, 20, 20),
    "vector": (10, 15, 25),
    "kg": (20, 20, 20),
    "keyword": (10, 15, 25),
    "news": (10, 10, 10),
    "markets": (15, 15, 15),
    "local": (10, 10, 10),
    "preflight": (3, 3, 3),
}
FALLBACKS = {"vector": "keyword", "keyword": "vector", "kg": "vector", "news": "web", "markets": "web"}


@pytest.fixture(scope="module")
def table() -> Table:
    return load_table()


def test_time_by_mode(table: Table) -> None:
    times = {name: (row.deadline_ms, row.reserve_ms, row.fusion_ms) for name, row in table.modes.items()}
    assert times == {
        "simple": (5000, 500, 200),
        "technical": (7000, 700, 300),
        "research": (10000, 900, 400),
        "multimedia": (10000, 900, 400),
    }


def test_lane_budgets(table: Table) -> None:
    assert {name: tuple(row.budget_ms[mode] for mode in MODES) for name, row in table.lanes.items()} == BUDGETS


def test_lane_limits(table: Table) -> None:
    depths = MODES[:3]
    assert {name: tuple(row.max_results[depth] for depth in depths) for name, row in table.lanes.items()} == MAX_RESULTS


def test_fallbacks(table: Table) -> None:
    assert {name: row.fallback for name, row in table.lanes.items() if row.fallback} == FALLBACKS


def test_load_costs_depths_and_time_ranges(table: Table) -> None:
    assert (table.load.threshold, table.load.factor) == (0.8, 0.9)
    costs = {name: (row.results, row.time_factor, row.answer_tokens) for name, row in table.costs.items()}
    assert costs == {"low": (10, 0.5, 1000), "medium": (20, 1.0, 2000), "high": (50, 2.0, 5000)}
    depths = {name: (row.results, row.search_depth) for name, row in table.depths.items()}
    assert depths == {"simple": (10, 1), "technical": (20, 2), "research": (50, 3)}
    assert (table.time_ranges["recent"].days, table.time_ranges["recent"].news_days) == (730, 7)
    assert 5 * 365 <= table.time_ranges["five_years"].days <= 5 * 365 + 2


def test_limits_of_callers(table: Table) -> None:
    limits = table.limits
    assert (limits.query_characters, limits.max_results, limits.default_results) == (10_000, 100, 25)
    assert (limits.results_into_synthesis, limits.context_tokens, table.fusion.rrf_k) == (10, 8000, 60)


def test_no_two_processes_share_a_port(table: Table) -> None:
    ports = [table.gateway_port, table.fusion.port, *(row.port for row in table.lanes.values())]
    assert len(set(ports)) == len(ports)


def test_a_lane_can_answer_in_less_than_its_smallest_budget(table: Table) -> None:
    for row in table.lanes.values():
        assert 0 < row.minimum_ms < min(row.budget_ms.values())


def test_only_enables_just_these_lanes(table: Table) -> None:
    narrowed = table.only({"vector", "local"})
    assert [row.name for row in narrowed.enabled()] == ["vector", "local"]
    assert [row.name for row in narrowed.indexed()] == ["vector"]
    assert list(narrowed.lanes) == list(table.lanes)


def test_only_refuses_a_lane_that_the_table_lacks(table: Table) -> None:
    with pytest.raises(StartupError, match="unknown lane gossip, rumour; the table has web, vector"):
        table.only({"rumour", "local", "gossip"})


def broken(tmp_path: Path, damage: Callable[[dict[str, Any]], object]) -> str:
    values = copy.deepcopy(VALUES)
    damage(values)
    path = tmp_path / "values.yaml"
    # JSON is YAML, but for the names of what is not a number.
    path.write_text(json.dumps(values).replace("NaN", ".nan"))
    with pytest.raises(StartupError) as caught:
        load_table(path)
    assert str(path) in caught.value.message
    return caught.value.message


def put(*path: str, value: object) -> Callable[[dict[str, Any]], object]:
    def damage(values: dict[str, Any]) -> None:
        for key in path[:-1]:
            values = values[key]
        values[path[-1]] = value

    return damage


def drop(*path: str) -> Callable[[dict[str, Any]], object]:
    def damage(values: dict[str, Any]) -> None:
        for key in path[:-1]:
            values = values[key]
        del values[path[-1]]

    return damage


@pytest.mark.parametrize(
    ("damage", "entry"),
    [
        (drop("modes"), "modes is missing"),
        (drop("lanes"), "lanes is missing"),
        (drop("limits"), "limits is missing"),
        (drop("gateway"), "gateway is missing"),
        (drop("reserve_share"), "reserve_share is None"),
        (drop("modes", "simple", "fusion_ms"), "modes.simple.fusion_ms is missing"),
        (drop("lanes", "web", "budget_ms"), "lanes.web.budget_ms is missing"),
        (drop("lanes", "web", "budget_ms", "research"), "lanes.web.budget_ms"),
        (drop("lanes", "kg", "max_results", "simple"), "lanes.kg.max_results"),
        (drop("fusion", "rrf_k"), "fusion.rrf_k is missing"),
        (put("lanes", "web", "colour", value="red"), "lanes.web.colour is unknown"),
        (put("lanes", "web", value=None), "lanes.web is missing or no mapping"),
        (put("lanes", "web", "budget_ms", value=1000), "lanes.web.budget_ms is 1000"),
        (put("lanes", "web", "budget_ms", "simple", value="fast"), "lanes.web.budget_ms"),
        (put("lanes", "web", "port", value="http"), "lanes.web.port is 'http'"),
        (put("lanes", "web", "enabled", value="no"), "lanes.web.enabled is 'no'"),
        (put("lanes", "kg", "keeps", value="document"), "lanes.kg.keeps is 'document'"),
        (put("lanes", "kg", "fallback", value="rumour"), "lanes.kg.fallback"),
        (put("limits", "max_results", value=True), "limits.max_results is True"),
        (put("load", "factor", value=float("nan")), "load.factor is nan"),
        (put("reserve_share", value="most"), "reserve_share is 'most'"),
        (put("gateway", "port", value=None), "gateway.port is None"),
    ],
)
def test_a_malformed_table_names_the_entry(
    tmp_path: Path, damage: Callable[[dict[str, Any]], object], entry: str
) -> None:
    assert entry in broken(tmp_path, damage)


@pytest.mark.parametrize("text", ["", "- a list", "lanes: [unclosed", "a: b: c"])
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(text)
    with pytest.raises(StartupError, match=r"values\.yaml"):
        load_table(path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StartupError, match="is not YAML"):
        load_table(path)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"nowhere\.yaml cannot be read: No such file"):
        load_table(tmp_path / "nowhere.yaml")
