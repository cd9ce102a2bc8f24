"""Jaeger beside a mesh on one machine: where its binary is kept, how it is run, and what the mesh is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from services.runtime.errors import StartupError
from services.runtime.readiness import answers_http
from services.runtime.settings import load, setting
from services.runtime.supervise import Program

# Of the Go module; the Jaeger that it builds calls itself 2.13.0.
VERSION = "1.76.0"
NAME = "jaeger"
CONFIG = Path(__file__).with_name("jaeger.yaml")
PAGE = Path(__file__).with_name("jaeger_page")
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """Where spans go in and where traces come out."""

    otlp: int = 4317
    query: int = 16686

    @classmethod
    def beside(cls, port_base: int) -> Ports:
        """Of the Jaeger of one mesh: above the ports of its lanes, so that two meshes can each have theirs."""
        return cls(port_base + 20, port_base + 21)

    def environment(self) -> dict[str, str]:
        """What tells the processes of a mesh where to send spans, and its client where to look at them."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{HOST}:{self.otlp}",
            "LANEMESH_JAEGER_URL": f"http://{HOST}:{self.query}",
        }


@dataclass(frozen=True)
class CacheSettings:
    """Where what was built is kept, for all checkouts of one user."""

    folder: Path = setting("XDG_CACHE_HOME", Path("~/.cache").expanduser())


def binary(environment: Mapping[str, str]) -> Path:
    """Where the binary is once it was built."""
    return load(CacheSettings, environment).folder / "lanemesh" / "bin" / f"{NAME}-{VERSION}"


def program(ports: Ports, environment: Mapping[str, str]) -> Program:
    """Jaeger, to be supervised; StartupError when it was not built."""
    executable = binary(environment)
    if not executable.is_file():
        raise StartupError(f"Jaeger {VERSION} is not built on this machine; `make jaeger-build` does it, once")
    return Program(
        NAME,
        (str(executable), "--config", str(CONFIG)),
        HOST,
        ports.query,
        # No more: it needs none of the keys that the lanes do.
        {"JAEGER_OTLP_PORT": str(ports.otlp), "JAEGER_QUERY_PORT": str(ports.query), "JAEGER_PAGE": str(PAGE)},
        ready=answers_http("/api/services"),
        further_ports=(ports.otlp,),
    )
