"""Podman as a runtime of pods: containers started from their manifests, confined as their manifests say."""

from __future__ import annotations

import asyncio
import json
import resource
from pathlib import Path

from tests.images.chart import Manifests, Object

# runc cannot raise these limits in every sandbox, so they are given, and never higher than this machine's own.
FILES = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 65_536)
PROCESSES = 4096
# What was left behind by tests that were killed is found by it.
LABEL = "lanemesh-test"
BASE = ("podman", "--runtime", "runc")


class PodmanError(Exception):
    """What podman said when it failed."""


async def podman(*words: str, check: bool = True) -> str:
    """Runs podman; what it printed."""
    command = [*BASE, *words]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    if check and process.returncode:
        raise PodmanError(f"{' '.join(words[:6])} …: {err.decode().strip()}")
    return out.decode().strip()


def confinement(spec: Object, container: Object) -> list[str]:
    """The options that make a container as confined as its manifest asks."""
    pod, own = spec.get("securityContext", {}), container.get("securityContext", {})
    options = ["--user", f"{pod['runAsUser']}:{pod['runAsGroup']}", "--read-only-tmpfs=false"]
    if "fsGroup" in pod:
        options += ["--group-add", str(pod["fsGroup"])]
    if own.get("readOnlyRootFilesystem"):
        options += ["--read-only"]
    if own.get("allowPrivilegeEscalation") is False:
        options += ["--security-opt", "no-new-privileges"]
    for capability in own.get("capabilities", {}).get("drop", ()):
        options += ["--cap-drop", capability.lower()]
    if memory := container.get("resources", {}).get("limits", {}).get("memory"):
        options += ["--memory", memory.removesuffix("i").lower()]
    return [*options, "--ulimit", f"nofile={FILES}:{FILES}", "--ulimit", f"nproc={PROCESSES}:{PROCESSES}"]


def environment(container: Object, manifests: Manifests) -> list[str]:
    """The options for a container's variables, those by reference looked up."""
    options: list[str] = []
    for row in container.get("env", ()):
        value = row.get("value") if "value" in row else _referred(row["valueFrom"]["secretKeyRef"], manifests)
        if value is not None:
            options += ["--env", f"{row['name']}={value}"]
    return options


def _referred(reference: Object, manifests: Manifests) -> str | None:
    if reference.get("optional") and ("Secret", reference["name"]) not in manifests.objects:
        return None
    return manifests.entries("Secret", reference["name"])[reference["key"]]


def mounts(container: Object, volumes: dict[str, Path]) -> list[str]:
    """The options for a container's volumes, whose places on this machine are given."""
    options: list[str] = []
    for row in container.get("volumeMounts", ()):
        source = volumes[row["name"]] / row.get("subPath", "")
        options += ["--volume", f"{source}:{row['mountPath']}:{'ro' if row.get('readOnly') else 'rw'}"]
    return options


def command(container: Object) -> list[str]:
    """Image and words of a container: the manifest's command in place of the image's, as in Kubernetes."""
    entry = ["--entrypoint", json.dumps(container["command"])] if "command" in container else []
    return [*entry, container["image"], *container.get("args", ())]
