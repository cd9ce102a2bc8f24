"""The operator's page covers what the chart brings."""

from __future__ import annotations

import re

import yaml

from tests.chart.conftest import CHART, ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
RULES = yaml.safe_load((CHART / "files" / "prometheus" / "rules.yaml").read_text(encoding="utf-8"))


def test_every_alert_has_its_section_and_every_section_its_alert() -> None:
    alerts = [rule for group in RULES["groups"] for rule in group["rules"] if "alert" in rule]
    assert alerts
    assert re.findall(r"^### (\w+)$", PAGE, re.MULTILINE) == [rule["alert"] for rule in alerts]
    for rule in alerts:
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"


def test_values_that_the_page_names_exist() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    named = re.findall(
        r"`((?:deploy|development|images|network_policy|telemetry|test|tls|envoy|protection)\.[a-z_.]+)", PAGE
    )
    assert len(set(named)) > 10
    # What is said of one process has the columns of the defaults.
    columns = values["deploy"]["defaults"] | {"replicas": None}
    values["deploy"]["processes"] = dict.fromkeys(values["deploy"]["processes"], columns)
    for path in set(named) - {"telemetry.md", "tls.key", "tls.crt"}:
        found = values
        for part in path.rstrip(".").split("."):
            if part:
                assert part in found, path
                found = found[part]
