"""The dashboard for Grafana: it asks only for what is exported or recorded, and with the rules for all of that."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.prometheus.exported import exported, mistakes, names
from tests.prometheus.test_rules import HELD, RECORDED, ROOT

DASHBOARD: dict[str, Any] = json.loads((ROOT / "helm" / "files" / "grafana" / "lanemesh.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_asks_for_what_there_is(panel: dict[str, Any]) -> None:
    assert panel["targets"]
    for target in panel["targets"]:
        assert list(mistakes(target["expr"], RECORDED)) == []
        assert target["datasource"]["uid"] == "${datasource}"


def test_whatever_is_exported_is_looked_at() -> None:
    asked = {name for panel in PANELS for target in panel["targets"] for name in names(target["expr"])}
    asked |= {name for rule in HELD for name in names(rule["expr"])}
    unseen = {name for name in exported() if not name.endswith(("_sum", "_count"))} - asked
    assert unseen == set()


def test_every_recorded_series_is_read_by_somebody() -> None:
    asked = {name for panel in PANELS for target in panel["targets"] for name in names(target["expr"])}
    asked |= {name for rule in HELD for name in names(rule["expr"])}
    assert RECORDED - asked == set()


def test_panels_have_a_place_of_their_own() -> None:
    assert max(Counter(panel["id"] for panel in DASHBOARD["panels"]).values()) == 1
    squares = Counter(
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    )
    assert max(squares.values()) == 1
    assert max(x for x, _ in squares) == 23
