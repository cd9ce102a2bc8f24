"""The volumes of a pod as folders of this machine."""

from __future__ import annotations

import os
from pathlib import Path

from tests.images.chart import Manifests, Object


def lay_out(spec: Object, manifests: Manifests, folder: Path, claims: dict[str, Path]) -> dict[str, Path]:
    """Makes every volume of a pod; `claims` are the ones that outlive it."""
    group = spec.get("securityContext", {}).get("fsGroup", 0)
    places = dict(claims)
    for volume in spec.get("volumes", ()):
        places[volume["name"]] = _place(volume, manifests, folder / volume["name"])
    for name, place in places.items():
        if not any(volume["name"] == name and "hostPath" in volume for volume in spec.get("volumes", ())):
            _belong(place, group)
    return places


def _place(volume: Object, manifests: Manifests, folder: Path) -> Path:
    if "hostPath" in volume:
        return Path(volume["hostPath"]["path"])
    folder.mkdir(parents=True)
    if "configMap" in volume:
        _write(folder, manifests.entries("ConfigMap", volume["configMap"]["name"]), 0o644)
    elif "secret" in volume:
        mode = volume["secret"].get("defaultMode", 0o644)
        _write(folder, manifests.entries("Secret", volume["secret"]["secretName"]), mode)
    else:
        assert "emptyDir" in volume, f"a volume of an unknown kind: {volume}"
    return folder


def _write(folder: Path, entries: dict[str, str], mode: int) -> None:
    for name, content in entries.items():
        (folder / name).write_text(content, encoding="utf-8")
        (folder / name).chmod(mode)


def _belong(folder: Path, group: int) -> None:
    """Root's, and writable for the pod's group, as fsGroup has it."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, -1, group)
    folder.chmod(0o2775)
