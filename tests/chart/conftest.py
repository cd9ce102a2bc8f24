"""The chart rendered once for each set of values, as objects."""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "helm"
VALUES = Path(__file__).parent / "values"
HELM = Path(sysconfig.get_path("scripts")) / "helm"
SETS = ("secured", "bare", "development")

Object = dict[str, Any]


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs helm without any cluster."""
    return subprocess.run([HELM, *arguments], capture_output=True, text=True, check=False)


@dataclass(frozen=True)
class Rendered:
    """What the chart makes of one set of values."""

    name: str
    values: Mapping[str, Any]
    objects: list[Object]

    def of(self, *kinds: str) -> list[Object]:
        """The objects of these kinds."""
        return [thing for thing in self.objects if thing["kind"] in kinds]

    def one(self, kind: str, name: str) -> Object:
        """The object of that kind and name."""
        (found,) = [thing for thing in self.of(kind) if thing["metadata"]["name"] == name]
        return found

    def pods(self) -> Iterator[tuple[str, Object]]:
        """Every pod that may come of it: the name of what makes it, and its template."""
        for thing in self.of("Deployment", "StatefulSet"):
            yield thing["metadata"]["name"], thing["spec"]["template"]
        for thing in self.of("Pod"):
            yield thing["metadata"]["name"], thing


def component(thing: Object) -> str:
    """The name of the process or server that an object belongs to."""
    return str(thing["metadata"]["labels"]["app.kubernetes.io/name"])


def containers(pod: Object) -> list[Object]:
    """Every container of a pod, first those that start first."""
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def _merged(base: Any, over: Any) -> Any:
    if isinstance(base, dict) and isinstance(over, dict):
        return base | {key: _merged(base.get(key), value) for key, value in over.items()}
    return over


@cache
def render(name: str) -> Rendered:
    """One set of values, or the chart's own as `default`."""
    files = [] if name == "default" else [VALUES / f"{name}.yaml"]
    done = helm("template", "lanemesh", str(CHART), *(word for file in files for word in ("--values", str(file))))
    assert done.returncode == 0, done.stderr
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    for file in files:
        values = _merged(values, yaml.safe_load(file.read_text(encoding="utf-8")))
    return Rendered(name, values, [found for found in yaml.safe_load_all(done.stdout) if found])


@pytest.fixture(scope="session", params=["default", *SETS])
def rendered(request: pytest.FixtureRequest) -> Rendered:
    """Each of them in turn."""
    return render(request.param)
