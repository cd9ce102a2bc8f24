"""One control plane for all tests of this folder: `make test-cluster`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.cluster.binaries import ROOT, Binaries, binaries, definitions, missing
from tests.cluster.kube import Kube, Object, Refused
from tests.cluster.plane import control_plane, eventually

NAMESPACE = "search"
RELEASE = "lanemesh"
VALUES = ROOT / "tests" / "chart" / "values"
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}


@dataclass(frozen=True)
class Cluster:
    """The cluster, and helm for it."""

    binaries: Binaries
    kube: Kube
    config: Path

    def helm(self, *arguments: str) -> str:
        """Runs helm; it must succeed, and neither it nor the server may warn."""
        command = [str(self.binaries.helm), *arguments, "--namespace", NAMESPACE, "--kubeconfig", str(self.config)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    def manifest(self, *arguments: str) -> list[Object]:
        """The objects of the release, or of one of its revisions."""
        return objects(self.helm("get", "manifest", RELEASE, *arguments))


def objects(text: str) -> list[Object]:
    """The objects of a stream of YAML."""
    return [found for found in yaml.safe_load_all(text) if found]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane with the operators' kinds and a namespace that admits only restricted pods."""
    if os.environ.get("LANEMESH_TEST_CLUSTER") != "1":
        pytest.skip("runs by `make test-cluster`, which builds a real control plane first")
    if lacking := missing():
        pytest.skip(f"a real control plane needs {lacking}, which this machine does not have")
    found = binaries()
    with control_plane(found, tmp_path_factory.mktemp("plane")) as (kube, config):
        for file in definitions():
            kube.create(yaml.safe_load(file.read_text(encoding="utf-8")))
        kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": RESTRICTED}})
        # The class that the values of the tests name.
        importance = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "search"}}
        kube.create(importance | {"value": 1000})
        for version in ("monitoring.coreos.com/v1", "cert-manager.io/v1"):
            eventually(lambda version=version: _served(kube, version), f"{version} is served")  # type: ignore[misc]
        kube.warnings.clear()
        yield Cluster(found, kube, config)


@pytest.fixture
def release(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster, from which the test's release is removed afterwards, with the volumes that outlive it."""
    yield cluster
    cluster.helm("uninstall", RELEASE, "--ignore-not-found", "--wait", "--timeout", "60s")
    for claim in _claims(cluster):
        path = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/{claim['metadata']['name']}"
        cluster.kube.call("DELETE", path)
    eventually(lambda: None if _claims(cluster) else True, "no claim is left")


def _claims(cluster: Cluster) -> list[Object]:
    return cluster.kube.list("PersistentVolumeClaim", "v1", NAMESPACE)


def _served(kube: Kube, version: str) -> str | None:
    try:
        return json.dumps(kube.call("GET", f"/apis/{version}"))
    except Refused:
        return None
