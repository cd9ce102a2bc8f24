"""Where an engineer finds the trace of a call, and the spans of the command itself."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from services.runtime import telemetry
from services.runtime.settings import load, setting
from services.runtime.telemetry import TelemetrySettings

Result = TypeVar("Result")

SERVICE = "client"
_TRACE_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class TracingSettings:
    """Where traces are looked at."""

    jaeger_url: str = setting("LANEMESH_JAEGER_URL", "")


def where(trace_id: str) -> str:
    """The trace as people find it: by its address in Jaeger where that is known, else by its id."""
    jaeger = load(TracingSettings, os.environ).jaeger_url.rstrip("/")
    return f"{jaeger}/trace/{trace_id}" if jaeger and _TRACE_ID.fullmatch(trace_id) else trace_id


async def traced(work: Awaitable[Result]) -> Result:
    """The work, with the spans of its calls exported where the environment says so."""
    stop = telemetry.configure(SERVICE, load(TelemetrySettings, os.environ))
    try:
        return await work
    finally:
        stop()
