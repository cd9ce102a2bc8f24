"""Envoy beside a mesh on one machine: the chart's configuration, rendered by helm for loopback, and the program."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from services.runtime.errors import StartupError
from services.runtime.readiness import answers_http
from services.runtime.registry import Table
from services.runtime.supervise import Program

CHART = Path(__file__).parents[2] / "helm"
NAME = "envoy"
TEMPLATE = "templates/envoy.yaml"
CONFIG = "envoy.yaml"
HOST = "127.0.0.1"
WORDS = 5
# The kernel's limit on the path of a Unix socket.
SOCKET_PATH = 107
OTLP = "OTEL_EXPORTER_OTLP_ENDPOINT"
SAMPLE_RATE = "LANEMESH_TRACE_SAMPLE_RATE"
# What a process is told of its certificates, and what the chart calls it.
CERTIFICATES = {
    "LANEMESH_TLS_CERT": "certificate",
    "LANEMESH_TLS_KEY": "key",
    "LANEMESH_TLS_CA": "authority",
}
CLIENT_CERTIFICATES = "LANEMESH_CLIENT_CERTIFICATES"


@dataclass(frozen=True, slots=True)
class Ports:
    """Where Envoy stands: in front, at the gateway's port; everything else in a block above the mesh.

    In the block every part has its offset of the lane table again: the gateway, which has moved there, and for each
    lane and fusion the listener by which the gateway reaches it.
    """

    base: int
    block: int

    @classmethod
    def beside(cls, port_base: int) -> Ports:
        """Above the lanes, and above the ports of Jaeger."""
        return cls(port_base, port_base + 30)

    @property
    def metrics(self) -> int:
        """Readiness and figures."""
        return self.block + 29

    def taken(self, table: Table) -> tuple[int, ...]:
        """Those Envoy listens at, besides the front."""
        return (
            self.metrics,
            *(self.block + port for port in [*(row.port for row in table.enabled()), table.fusion.port]),
        )


def between(
    stages: Sequence[Sequence[Program]], table: Table, ports: Ports, home: Path, config: Path | None = None
) -> list[list[Program]]:
    """The stages with Envoy before the gateway and between it and the rest: it stops once the gateway has drained."""
    (gateway,), *rest = stages
    folder = (home / "envoy").resolve()
    path = render(_values(gateway, table, ports, folder), folder, config)
    validate(path)
    return [[_behind(gateway, ports, table)], [_program(path, table, ports)], *(list(stage) for stage in rest)]


def _values(gateway: Program, table: Table, ports: Ports, folder: Path) -> dict[str, Any]:
    """What one machine tells the chart: loopback, its ports, the lanes it runs."""
    admin = folder / "admin.sock"
    if len(str(admin)) > SOCKET_PATH:
        raise StartupError(f"LANEMESH_HOME is too long: {admin} has more than {SOCKET_PATH} characters")
    rate = gateway.environment.get(SAMPLE_RATE, "")
    collector = gateway.environment.get(OTLP, "").removeprefix("http://").rstrip("/")
    tracing = {"collector": collector} | ({"sample_percent": 100 * float(rate)} if rate else {})
    tls = {name: gateway.environment[told] for told, name in CERTIFICATES.items() if gateway.environment.get(told)}
    asked = gateway.environment.get(CLIENT_CERTIFICATES) != "none"
    own = {
        "config_folder": str(folder),
        "admin_socket": str(admin),
        "metrics": {"address": HOST, "port": ports.metrics},
        "peers": {"address": f"{HOST}:{{port}}", "port_base": ports.base},
        "endpoints": {"gateway": [f"{HOST}:{ports.block + table.gateway_port}"]},
        "ingress": {"address": HOST, "port": gateway.port},
        "egress": {"port_base": ports.block},
        "tracing": tracing,
        "tls": {**tls, "enabled": bool(tls), "client_certificate": asked},
    }
    return {"envoy": own, "lanes": {row.name: {"enabled": row.enabled} for row in table.lanes.values()}}


def _behind(gateway: Program, ports: Ports, table: Table) -> Program:
    """The gateway, moved behind Envoy. Its certificates are Envoy's now, which tells it who showed which."""
    port = ports.block + table.gateway_port
    told = {"LANEMESH_LISTEN": f"{HOST}:{port}", "LANEMESH_PORT_BASE": str(ports.block)}
    if any(gateway.environment.get(variable) for variable in CERTIFICATES):
        told["LANEMESH_FORWARDED_IDENTITY"] = "true"
    kept = {name: value for name, value in gateway.environment.items() if name not in CERTIFICATES}
    return replace(gateway, port=port, environment=kept | told)


def _program(config: Path, table: Table, ports: Ports) -> Program:
    async def ready(_front: str) -> None:
        # At the front nothing is ready before the gateway, which is started after it.
        await answers_http("/ready")(f"{HOST}:{ports.metrics}")

    return Program(
        NAME,
        command(config),
        HOST,
        ports.base + table.gateway_port,
        # It needs nothing that the environment holds.
        {},
        ready=ready,
        further_ports=ports.taken(table),
    )


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


def command(config: Path) -> tuple[str, ...]:
    """How Envoy is run: with one worker, for one Python gateway cannot keep more than one busy."""
    return (
        str(envoy()),
        *("--config-path", str(config)),
        *("--concurrency", "1"),
        # It takes a shared memory region and a base id, of which a machine with two meshes has but one.
        "--disable-hot-restart",
    )


def _run(words: Sequence[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603  no shell, our own words
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-WORDS:])
        raise StartupError(f"{Path(words[0]).name} refused: {said}")
    return done.stdout
