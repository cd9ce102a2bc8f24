"""The whole mesh on one machine: which processes, on which ports, with which environment, watched by one supervisor."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from services.runtime.clients import PORT_BASE
from services.runtime.errors import StartupError
from services.runtime.registry import Table
from services.runtime.settings import setting
from services.runtime.supervise import Program, Supervisor

HOST = "127.0.0.1"
# Ports of figures begin so far above the mesh's own, beyond those of Jaeger and Envoy; each part has its offset again.
METRICS_OFFSET = 60
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class DevSettings:
    """What the mesh of one machine reads from the environment; options of the command overrule it."""

    home: Path = setting("LANEMESH_HOME", Path("~/.lanemesh").expanduser())
    config: Path | None = setting("LANEMESH_CONFIG", None)
    lanes: tuple[str, ...] = setting("LANEMESH_LANES", ())
    port_base: int = setting("LANEMESH_PORT_BASE", PORT_BASE, low=1, high=65_000)
    project_root: Path = setting("LANEMESH_PROJECT_ROOT", Path())


def stages(
    table: Table, settings: DevSettings, environment: Mapping[str, str], *, metrics: bool = False
) -> list[list[Program]]:
    """The processes in the order in which they stop: the gateway first, so that nothing new comes in.

    With `metrics` each serves its figures at a port of its own.
    """
    shared = dict(environment) | {
        "LANEMESH_HOME": str(settings.home.resolve()),
        "LANEMESH_LANES": ",".join(lane.name for lane in table.enabled()),
        "LANEMESH_PORT_BASE": str(settings.port_base),
        "LANEMESH_PROJECT_ROOT": str(settings.project_root.resolve()),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        # `python -m gateway` must mean ours, whatever folders the caller stands in.
        "PYTHONSAFEPATH": "1",
    }
    if settings.config:
        shared["LANEMESH_CONFIG"] = str(settings.config.resolve())

    def program(name: str, offset: int, *module: str) -> Program:
        port = settings.port_base + offset
        own = shared | {"LANEMESH_LISTEN": f"{HOST}:{port}"}
        if metrics:
            own["LANEMESH_METRICS_PORT"] = str(port + METRICS_OFFSET)
        return Program(name, (sys.executable, "-m", *module), HOST, port, own)

    lanes = [program(lane.name, lane.port, "services.runtime", lane.name) for lane in table.enabled()]
    fusion = program("fusion", table.fusion.port, "fusion_service")
    return [[program("gateway", table.gateway_port, "gateway")], [*lanes, fusion]]


async def run(supervisor: Supervisor, session: Callable[[], Awaitable[bool]]) -> int:
    """Starts everything, runs `session`, serves until a signal if it says so, and stops in order."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, supervisor.signalled)
    try:
        await _unless_told(supervisor, _serve(supervisor, session))
    finally:
        await supervisor.stop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
    return 0


async def _serve(supervisor: Supervisor, session: Callable[[], Awaitable[bool]]) -> None:
    check_ports([child.program for child in supervisor.children.values()])
    await supervisor.start()
    if await session():
        await supervisor.until_told()


async def _unless_told(supervisor: Supervisor, work: Awaitable[None]) -> None:
    """The work, given up when a signal comes first."""
    working = asyncio.ensure_future(work)
    told = asyncio.create_task(supervisor.until_told())
    try:
        await asyncio.wait((working, told), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
    finally:
        working.cancel()
        told.cancel()
        await asyncio.gather(working, told, return_exceptions=True)


def check_ports(programs: Sequence[Program]) -> None:
    """StartupError naming every port that somebody else holds."""
    taken = [
        f"port {port} ({program.name})"
        for program in programs
        for port in (program.port, *program.further_ports)
        if _held(program.host, port)
    ]
    if taken:
        verb = "is" if len(taken) == 1 else "are"
        raise StartupError(f"{', '.join(taken)} {verb} taken; choose another with --port-base")


def _held(host: str, port: int) -> bool:
    with socket.socket() as probe:
        # As servers do, so that connections of an earlier mesh that linger do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


@contextmanager
def sole_use(home: Path) -> Iterator[None]:
    """Holds the home folder for this mesh: two meshes must not share their data."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "up.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip() or "another process"
            raise StartupError(f"{home} is in use by a mesh ({holder}); choose another LANEMESH_HOME") from None
        lock.truncate(0)
        lock.write(f"pid {os.getpid()}")
        lock.flush()
        yield
