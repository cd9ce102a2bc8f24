"""Starts what the bench measures: null lanes, the null gateway, our gateway twice, fusion."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from bench.null import LANES
from services.runtime.registry import load_table

# Where the fused gateway's figures are to be had, from the port base.
METRICS = 22


def free_base(count: int) -> int:
    """The first of `count` consecutive free ports."""
    for base in range(42_000, 60_000, count):
        sockets = []
        try:
            for port in range(base, base + count):
                probe = socket.socket()
                sockets.append(probe)
                probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        finally:
            for probe in sockets:
                probe.close()
        return base
    raise SystemExit("bench: no free ports")


@contextmanager
def mesh(base: int, **settings: str) -> Iterator[dict[str, list[psutil.Process]]]:
    """Starts lanes, gateways and fusion; yields the processes each variant uses."""
    table = load_table()
    ports = {name: base + table.lanes[name].port for name in LANES}
    environment = os.environ | {
        "LANEMESH_PORT_BASE": str(base),
        "LANEMESH_LANES": ",".join(LANES),
        "LANEMESH_TRACE_SAMPLE_RATE": "0",
        "LANEMESH_LOG_LEVEL": "WARNING",
    }
    environment |= settings
    started: list[subprocess.Popen[bytes]] = []
    # A bench that is told to stop takes its processes along.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    def start(*arguments: str, **extra: str) -> psutil.Process:
        process = subprocess.Popen([sys.executable, "-m", *arguments], env=environment | extra)
        started.append(process)
        return psutil.Process(process.pid)

    try:
        lanes = [start("bench.null", "lane", name, str(port)) for name, port in ports.items()]
        null = start("bench.null", "gateway", str(base + 20), *map(str, ports.values()))
        fused = start("gateway", LANEMESH_LISTEN=f"127.0.0.1:{base}", LANEMESH_METRICS_PORT=str(base + METRICS))
        plain = start("gateway", LANEMESH_LISTEN=f"127.0.0.1:{base + 21}", LANEMESH_FUSION_ENABLED="false")
        fusion = start("fusion_service", LANEMESH_LISTEN=f"127.0.0.1:{base + table.fusion.port}")
        me = psutil.Process()
        yield {
            "fan-out": [me, *lanes],
            "null": [me, *lanes, null],
            "gateway": [me, *lanes, plain],
            "fused": [me, *lanes, fused, fusion],
        }
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(10)
        signal.signal(signal.SIGTERM, before)
