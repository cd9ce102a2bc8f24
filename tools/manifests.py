"""Renders k8s/ from the chart, one file per process or server: `python -m tools.manifests [FOLDER]`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
VALUES = ROOT / "k8s" / "values.yaml"
NAME = "lanemesh"
HEADER = "# Rendered from helm/ with k8s/values.yaml by `make manifests`; not to be edited.\n"
# What only means something to helm.
HELM_LABELS = ("app.kubernetes.io/managed-by", "helm.sh/chart")
HOOK = "helm.sh/hook"
COMPONENT = "app.kubernetes.io/name"

Object = dict[str, Any]


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as a block."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def render() -> list[Object]:
    """The objects of the chart, without its tests."""
    helm = Path(sysconfig.get_path("scripts")) / "helm"
    command = [str(helm), "template", NAME, str(ROOT / "helm"), "--namespace", NAME, "--values", str(VALUES)]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout  # noqa: S603  our own words
    found = [thing for thing in yaml.safe_load_all(text) if thing]
    return [_plain(thing) for thing in found if HOOK not in thing["metadata"].get("annotations", {})]


def _plain(thing: Object) -> Object:
    metadata = thing["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if key not in HELM_LABELS}
    return thing | {"metadata": metadata | {"namespace": NAME, "labels": labels}}


def namespace() -> Object:
    """The namespace, which admits restricted pods alone."""
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME, "labels": labels}}


def files(objects: Iterable[Object], servers: Iterable[str]) -> Mapping[str, list[Object]]:
    """What goes into which file: each component has its own."""
    found: dict[str, list[Object]] = {"namespace.yaml": [namespace()]}
    for thing in objects:
        component = thing["metadata"]["labels"][COMPONENT]
        folder = "development" if component in set(servers) else "mesh"
        found.setdefault(f"{folder}/{component}.yaml", []).append(thing)
    return found


def write(folder: Path, contents: Mapping[str, list[Object]]) -> None:
    """Puts the files there, and a kustomization that names them all; what stood there before is gone."""
    for old in ("mesh", "development"):
        shutil.rmtree(folder / old, ignore_errors=True)
        (folder / old).mkdir(parents=True)
    for name, objects in contents.items():
        text = yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, width=1_000_000)
        (folder / name).write_text(HEADER + text, encoding="utf-8")
    listed: Object = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    text = yaml.safe_dump(listed | {"resources": sorted(contents)}, sort_keys=False)
    (folder / "kustomization.yaml").write_text(HEADER + text, encoding="utf-8")


def main(folder: Path) -> None:
    """Entry point."""
    values = yaml.safe_load((ROOT / "helm" / "values.yaml").read_text(encoding="utf-8"))
    write(folder, files(render(), values["development"]["servers"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else VALUES.parent)
