"""Envoy beside a mesh on one machine: the chart's own configuration, rendered by helm for loopback, and the program."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from services.runtime.errors import StartupError

CHART = Path(__file__).parents[2] / "helm"
TEMPLATE = "templates/envoy.yaml"
CONFIG = "envoy.yaml"
WORDS = 5


def envoy() -> Path:
    """Envoy's binary; StartupError when it is not installed."""
    package = find_spec("envoy")
    found = Path(package.origin or "").parent / "_bin" / "envoy" if package else Path()
    if not found.is_file():
        raise StartupError("Envoy is not installed here; it is in the extra `envoy`")
    return found


def helm() -> Path:
    """Helm's binary; StartupError when it is not installed."""
    found = shutil.which("helm", path=sysconfig.get_path("scripts"))
    if found is None:
        raise StartupError("helm is not installed here; it is in the extra `envoy`")
    return Path(found)


def render(values: Mapping[str, Any], folder: Path, config: Path | None = None) -> Path:
    """Writes what the chart says of Envoy into the folder, with these values over its own; the main file."""
    if not (CHART / TEMPLATE).is_file():
        raise StartupError("the chart that configures Envoy is part of a checkout and is not here")
    folder.mkdir(parents=True, exist_ok=True)
    own = folder / "values.yaml"
    own.write_text(yaml.safe_dump(dict(values)), encoding="utf-8")
    overlays = [str(path) for path in (config, own) if path]
    command = [str(helm()), "template", "lanemesh", str(CHART), "--show-only", TEMPLATE]
    manifest = yaml.safe_load(_run([*command, *(word for path in overlays for word in ("--values", path))]))
    for name, text in manifest["data"].items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / CONFIG


def validate(config: Path) -> None:
    """StartupError with Envoy's own words when it would not start from this."""
    _run([str(envoy()), "--mode", "validate", "--config-path", str(config)])


def command(config: Path, workers: int) -> tuple[str, ...]:
    """How Envoy is run."""
    return (
        str(envoy()),
        *("--config-path", str(config)),
        *("--concurrency", str(workers)),
        # It takes a shared memory region and a base id, of which a machine with two meshes has but one.
        "--disable-hot-restart",
    )


def _run(words: Sequence[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603  no shell, our own words
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-WORDS:])
        raise StartupError(f"{Path(words[0]).name} refused: {said}")
    return done.stdout
