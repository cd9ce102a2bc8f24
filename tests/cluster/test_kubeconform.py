"""kubeconform over what the chart renders, with schemas of the very server it is installed on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cluster import schemas
from tests.cluster.conftest import NAMESPACE, RELEASE, ROOT, VALUES, Cluster

# No objects of the cluster.
INPUTS = ("kustomization.yaml", "values.yaml")


@pytest.fixture(scope="module")
def location(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the schemas are."""
    return schemas.write(cluster.kube.call("GET", "/openapi/v2"), tmp_path_factory.mktemp("schemas"))


def _conform(cluster: Cluster, location: str, text: str) -> dict[str, int]:
    command = [str(cluster.binaries.kubeconform), "-strict", "-summary", "-output", "json"]
    command += ["-schema-location", location]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    found: dict[str, int] = json.loads(done.stdout)["summary"]
    return found


@pytest.mark.parametrize("name", ["secured", "bare", "development"])
def test_the_chart_conforms(cluster: Cluster, location: str, name: str) -> None:
    values = str(VALUES / f"{name}.yaml")
    summary = _conform(cluster, location, cluster.helm("template", RELEASE, str(ROOT / "helm"), "--values", values))
    assert summary.pop("valid") > 15
    assert set(summary.values()) == {0}


def test_the_plain_manifests_conform(cluster: Cluster, location: str) -> None:
    files = [file for file in sorted((ROOT / "k8s").rglob("*.yaml")) if file.name not in INPUTS]
    summary = _conform(cluster, location, "\n---\n".join(Path(file).read_text(encoding="utf-8") for file in files))
    assert summary.pop("valid") > 60
    assert set(summary.values()) == {0}


def test_a_misspelt_field_does_not_conform(cluster: Cluster, location: str) -> None:
    thing = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": NAMESPACE}}
    assert _conform(cluster, location, json.dumps(thing | {"spec": {"clusterIP": "None"}}))["valid"] == 1
    assert _conform(cluster, location, json.dumps(thing | {"spec": {"clusterIp": "None"}}))["invalid"] == 1
