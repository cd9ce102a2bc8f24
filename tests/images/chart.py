"""The chart's manifests as helm renders them, and the few questions a kubelet and a Service ask of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from services.runtime.envoy import CHART, helm

Object = dict[str, Any]
RELEASE = "lanemesh"


class Manifests:
    """Everything that an installation would create, by kind and name."""

    def __init__(self, objects: list[Object]) -> None:
        self.objects = {(each["kind"], each["metadata"]["name"]): each for each in objects}

    @classmethod
    def render(cls, values: Mapping[str, Any], folder: Path) -> Manifests:
        """What helm makes of the chart with these values."""
        file = folder / "values.yaml"
        file.write_text(yaml.safe_dump(dict(values)), encoding="utf-8")
        command = [str(helm()), "template", RELEASE, str(CHART), "--values", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return cls([each for each in yaml.safe_load_all(done.stdout) if each])

    def of_kind(self, *kinds: str) -> Iterator[Object]:
        """The objects of some kinds."""
        return (each for (kind, _), each in self.objects.items() if kind in kinds)

    def workloads(self) -> dict[str, Object]:
        """Deployments and StatefulSets by the process they run."""
        return {component(each): each for each in self.of_kind("Deployment", "StatefulSet")}

    def entries(self, kind: str, name: str) -> dict[str, str]:
        """What a ConfigMap or a Secret holds."""
        held = self.objects[kind, name]
        return dict(held.get("data") or {}) | dict(held.get("stringData") or {})


def component(workload: Object) -> str:
    """The process that a workload runs."""
    return str(workload["metadata"]["labels"]["app.kubernetes.io/name"])


def selected(service: Object, labels: Mapping[str, str]) -> bool:
    """Whether a Service selects pods with these labels."""
    return dict(service["spec"]["selector"]).items() <= labels.items()


def target_port(service: Object, port: int, spec: Object) -> int:
    """The port of the pod that a Service's port leads to."""
    (row,) = (row for row in service["spec"]["ports"] if row["port"] == port)
    target = row.get("targetPort", port)
    return target if isinstance(target, int) else named_port(spec, target)


def named_port(spec: Object, name: str | int) -> int:
    """A port of a pod by its name."""
    if isinstance(name, int):
        return name
    ports = (port for container in containers(spec) for port in container.get("ports", ()))
    return next(int(port["containerPort"]) for port in ports if port["name"] == name)


def containers(spec: Object) -> list[Object]:
    """Every container of a pod in the order of their start: sidecars are the first."""
    return [*spec.get("initContainers", ()), *spec["containers"]]
