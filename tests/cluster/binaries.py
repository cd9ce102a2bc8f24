"""The real programs of a cluster's control plane: etcd from the system, the others built from pinned Go modules."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
KUBERNETES = "k8s.io/kubernetes/cmd"
# Definitions of the kinds that operators bring, as their makers publish them.
DEFINITIONS = {
    "github.com/prometheus-operator/prometheus-operator": (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
    "github.com/cert-manager/cert-manager": ("deploy/crds/cert-manager.io_certificates.yaml",),
}


@dataclass(frozen=True)
class Binaries:
    """Where they are."""

    etcd: Path
    apiserver: Path
    controllers: Path
    kubeconform: Path
    helm: Path


def missing() -> str:
    """What this machine lacks to run a control plane; empty when it lacks nothing."""
    return ", ".join(name for name in ("go", "etcd") if shutil.which(name) is None)


def binaries() -> Binaries:
    """All of them, built where they were not yet; the first time takes many minutes."""
    return Binaries(
        etcd=Path(shutil.which("etcd") or "etcd"),
        apiserver=_built("kubernetes", f"{KUBERNETES}/kube-apiserver"),
        controllers=_built("kubernetes", f"{KUBERNETES}/kube-controller-manager"),
        kubeconform=_built("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform"),
        helm=ROOT / ".venv" / "bin" / "helm",
    )


def definitions() -> list[Path]:
    """The files that define the kinds of Prometheus's operator and cert-manager."""
    found = []
    for module, files in DEFINITIONS.items():
        command = ["go", "mod", "download", "-json", module]
        said = subprocess.run(command, cwd=ROOT / "tools" / "definitions", capture_output=True, text=True, check=True)
        found += [Path(json.loads(said.stdout)["Dir"]) / file for file in files]
    return found


def _built(module: str, package: str) -> Path:
    said = subprocess.run([ROOT / "tools" / "build", module, package], stdout=subprocess.PIPE, text=True, check=True)
    return Path(said.stdout.strip())
