"""The rules for Prometheus: promtool accepts and tests them, and they ask only for what the processes export."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.prometheus.exported import mistakes

ROOT = Path(__file__).parents[2]
RULES = ROOT / "helm" / "files" / "prometheus" / "rules.yaml"
CASES = Path(__file__).with_name("rules_test.yaml")
HELD: list[dict[str, Any]] = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
ALERTS = [rule for rule in HELD if "alert" in rule]
RECORDED = {rule["record"] for rule in HELD if "record" in rule}
# REQUIREMENTS, section 6: below what success, coverage and accuracy, and above what time, somebody is called.
THRESHOLDS = {
    "LanemeshLaneSuccessLow": "< 0.90",
    "LanemeshCitationCoverageLow": "< 0.80",
    "LanemeshCitationAccuracyLow": "< 0.80",
    "LanemeshResponseTimeHigh": "> 3",
}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Debian's package prometheus")
@pytest.mark.parametrize(
    "arguments", [("check", "rules", str(RULES)), ("test", "rules", str(CASES))], ids=["check", "test"]
)
def test_promtool_is_content(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("rule", HELD, ids=lambda rule: rule.get("record") or rule["alert"])
def test_a_rule_asks_for_what_is_exported(rule: dict[str, Any]) -> None:
    assert list(mistakes(rule["expr"], RECORDED)) == []


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_leads_to_its_runbook(rule: dict[str, Any]) -> None:
    assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"
    assert rule["annotations"]["summary"]
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert f"\n### {rule['alert']}\n" in (ROOT / "docs" / "operations.md").read_text()
    assert f"| `{rule['alert']}` |" in (ROOT / "docs" / "alerts.md").read_text()


def test_every_alert_is_seen_firing_in_the_cases() -> None:
    tests = yaml.safe_load(CASES.read_text())["tests"]
    fired = {case["alertname"] for test in tests for case in test.get("alert_rule_test", ()) if case["exp_alerts"]}
    assert fired == {rule["alert"] for rule in ALERTS}


def test_the_thresholds_are_those_required() -> None:
    expressions = {rule["alert"]: rule["expr"].splitlines()[0] for rule in ALERTS}
    assert {name for name, threshold in THRESHOLDS.items() if not expressions[name].endswith(threshold)} == set()


def test_every_recorded_series_is_written_once() -> None:
    assert len(RECORDED) == len([rule for rule in HELD if "record" in rule])


@pytest.mark.parametrize(
    ("expression", "mistake"),
    [
        ("rate(lanemesh_nonsense_total[5m])", "neither exported nor recorded"),
        ("lane:lanemesh_nonsense:ratio_5m", "neither exported nor recorded"),
        ('lanemesh_lane_calls_total{state="ok"}', "has no label state"),
        ('lanemesh_lane_calls_total{status="fine"}', "status is never fine"),
        ("sum by (provider) (lanemesh_lane_calls_total)", "has the label provider"),
    ],
)
def test_a_mistake_is_found(expression: str, mistake: str) -> None:
    (found,) = mistakes(expression, RECORDED)
    assert mistake in found
