"""The life of a process: settings, logs, telemetry, serve, stop. One exit code and one line when it cannot start."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import uvloop
from prometheus_client import start_http_server

from services.runtime import logs, telemetry
from services.runtime.errors import StartupError
from services.runtime.registry import Table, load_table
from services.runtime.server import Server, serve
from services.runtime.settings import load, setting
from services.runtime.telemetry import TelemetrySettings

EXIT_STARTUP = 2
GC_THRESHOLD = (50_000, 20, 20)
# gRPC's older polling takes a fifth less CPU per call under asyncio than its event engine, which hands every event from
# thread to thread. An operator's own choice stands.
GRPC_EXPERIMENTS = "-event_engine_client,-event_engine_listener,-event_engine_callback_cq"

Environment = Mapping[str, str]
# Builds the server of a process and what closes it, from the lane table and the environment.
Build = Callable[[Table, Environment], Awaitable[tuple[Server, Callable[[], Awaitable[None]]]]]


@dataclass(frozen=True)
class ProcessSettings:
    """What every process reads."""

    config: Path | None = setting("LANEMESH_CONFIG", None)
    lanes: tuple[str, ...] = setting("LANEMESH_LANES", ())
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = setting("LANEMESH_LOG_LEVEL", "INFO")
    log_format: logs.Format = setting("LANEMESH_LOG_FORMAT", "auto")
    metrics_port: int = setting("LANEMESH_METRICS_PORT", 0, low=0, high=65_535)
    # An address of the operator's choice: figures only, in plain HTTP.
    metrics_listen: str = setting("LANEMESH_METRICS_LISTEN", "")


def read_table(settings: ProcessSettings) -> Table:
    """The lane table as this process is to see it."""
    table = load_table(settings.config)
    return table.only(set(settings.lanes)) if settings.lanes else table


def run(name: str, build: Build) -> None:
    """Runs a process until it is told to stop."""
    # Read when gRPC makes its first server or channel.
    os.environ.setdefault("GRPC_EXPERIMENTS", GRPC_EXPERIMENTS)
    try:
        uvloop.run(_run(name, build, os.environ))
    except StartupError as error:
        sys.stderr.write(f"{name}: {error.message}\n")
        sys.exit(EXIT_STARTUP)


async def _run(name: str, build: Build, environment: Environment) -> None:
    settings = load(ProcessSettings, environment)
    logs.configure(name, settings.log_level, settings.log_format)
    stop_telemetry = telemetry.configure(name, load(TelemetrySettings, environment))
    _expose_metrics(settings)
    server, close = await build(read_table(settings), environment)
    # What start-up allocated lives as long as the process: keep the collector from walking it at every query.
    gc.collect()
    gc.freeze()
    # A query makes thousands of short-lived objects and hardly a cycle: collect now and then, not often in each.
    gc.set_threshold(*GC_THRESHOLD)
    await serve(server, close)
    await asyncio.to_thread(stop_telemetry)


def _expose_metrics(settings: ProcessSettings) -> None:
    if settings.metrics_port:
        try:
            start_http_server(settings.metrics_port, addr="127.0.0.1")
        except OSError as error:
            raise StartupError(f"LANEMESH_METRICS_PORT={settings.metrics_port}: the port cannot be bound") from error
    if settings.metrics_listen:
        host, _, port = settings.metrics_listen.rpartition(":")
        try:
            start_http_server(int(port), addr=host.strip("[]"))
        except (OSError, ValueError, OverflowError) as error:
            message = f"LANEMESH_METRICS_LISTEN={settings.metrics_listen}: the address cannot be bound"
            raise StartupError(message) from error
