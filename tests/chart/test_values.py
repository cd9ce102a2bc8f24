"""Values that mean nothing are refused with the name of the value; the rest renders whole."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from services.runtime.registry import load_table
from tests.chart.conftest import CHART, Rendered, helm, render

# The version of the API server that `make test-cluster` runs.
KUBERNETES = "1.35"
OPERATORS = {"ServiceMonitor", "PrometheusRule", "Certificate"}


def test_the_chart_lints() -> None:
    done = helm("lint", str(CHART), "--strict")
    assert done.returncode == 0, done.stdout


def test_every_object_is_one_of_its_kind(rendered: Rendered) -> None:
    for thing in rendered.objects:
        if thing["kind"] not in OPERATORS:
            kubernetes_validate.validate(thing, KUBERNETES, strict=True)


def test_names_are_unique(rendered: Rendered) -> None:
    names = [(thing["kind"], thing["metadata"]["name"]) for thing in rendered.objects]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("lanes.web.prot=2", "lanes.web: Additional property prot is not allowed"),
        ("lanes.web.budget_ms.simple=0", "lanes.web.budget_ms.simple: Must be greater than 0"),
        ("lanes.web.enabled=maybe", "lanes.web.enabled: Invalid type"),
        ("replicas=3", "(root): Additional property replicas is not allowed"),
        ("images.tag=latest", "images.tag: Must not validate the schema"),
        ("images.digests.web=sha256:12", "images.digests.web: Does not match pattern"),
        ("envoy.image=envoyproxy/envoy", "envoy.image: Does not match pattern"),
        ("deploy.defaults.resources.limits.memory=much", "deploy.defaults.resources.limits.memory: Does not match"),
        ("deploy.processes.web.secret_env.KEY.secret=s", "secret_env.KEY: entry is required"),
        ("deploy.processes.web.env.key=1", 'Property name of "key" does not match'),
        ("deploy.drain.pre_stop_seconds=0", "pre_stop_seconds: Must be greater than or equal to 1"),
        ("deploy.processes.gossip.replicas=2", "deploy.processes.gossip: no process of that name"),
        ("deploy.processes.vector.replicas=2", "deploy.processes.vector.replicas: vector keeps its index in a volume"),
        ("deploy.processes.kg.autoscaling.enabled=true", "deploy.processes.kg.autoscaling: kg keeps its index"),
        ("backends.vector.url=qdrant:6333", "backends.vector.url: Does not match pattern"),
        ("backends.vector.url=http://user:word@qdrant:6333", "backends.vector.url: Does not match pattern"),
        ("tls.enabled=true", "tls.enabled: needs tls.issuer.name"),
        ("tls.secrets=certificate", "tls.secrets: must hold {name}"),
        ("telemetry.monitors=on", "telemetry.monitors: telemetry.monitors must be one of the following"),
    ],
)
def test_a_wrong_value_is_refused_by_name(setting: str, message: str) -> None:
    done = helm("template", "lanemesh", str(CHART), "--set", setting)
    assert done.returncode != 0
    assert message in done.stderr


def test_a_process_reads_the_table_it_is_given(rendered: Rendered, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(rendered.one("ConfigMap", "lanemesh-table")["data"]["values.yaml"], encoding="utf-8")
    table = load_table(file)
    assert {lane.name for lane in table.enabled()} == {
        name for name, row in rendered.values["lanes"].items() if row["enabled"]
    }
    assert rendered.name != "default" or asdict(table) == asdict(load_table())


def test_each_process_runs_once_and_no_other(rendered: Rendered) -> None:
    table = rendered.values["lanes"]
    made = [thing["metadata"]["name"].removeprefix("lanemesh-") for thing in rendered.of("Deployment", "StatefulSet")]
    wanted = ["gateway", "fusion", *(name for name, row in table.items() if row["enabled"])]
    servers = list(rendered.values["development"]["servers"]) if rendered.values["development"]["enabled"] else []
    assert sorted(made) == sorted(wanted + servers)


def test_an_added_lane_is_deployed_by_its_row_alone() -> None:
    row = 'lanes.gossip={"port":12,"enabled":true,"minimum_ms":5,"budget_ms":{"simple":1},"max_results":{"simple":1}}'
    done = helm("template", "lanemesh", str(CHART), "--set-json", row)
    found = [thing for thing in yaml.safe_load_all(done.stdout) if thing]
    kinds = {thing["kind"] for thing in found if thing["metadata"]["name"] == "lanemesh-gossip"}
    assert kinds == {"ServiceAccount", "Service", "Deployment", "PodDisruptionBudget", "NetworkPolicy"}


def test_what_an_operator_brings_is_made_where_the_cluster_knows_it() -> None:
    assert not render("default").of(*OPERATORS)
    done = helm("template", "lanemesh", str(CHART), "--api-versions", "monitoring.coreos.com/v1/ServiceMonitor")
    kinds = {thing["kind"] for thing in yaml.safe_load_all(done.stdout) if thing}
    assert "ServiceMonitor" in kinds
    assert "PrometheusRule" not in kinds
