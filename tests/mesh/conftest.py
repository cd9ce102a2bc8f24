"""A whole mesh of real processes, started as a user would start it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

LANEMESH = (sys.executable, "-m", "client.main")
PORTS = 10
# Where the ports of a mesh may lie: below those that the system gives out.
FIRST, SPAN = 23_000, 9_000

# Asked by name, whatever the question: these tests are about processes, not routing.
LANES = ("keyword", "local")


def free_base() -> int:
    """The first of ten consecutive free ports, sought from a place of this process's own."""
    start = os.getpid() * PORTS % SPAN
    for base in (FIRST + (start + offset) % SPAN for offset in range(0, SPAN, PORTS)):
        sockets = [socket.socket() for _ in range(PORTS)]
        try:
            for offset, probe in enumerate(sockets):
                probe.bind(("127.0.0.1", base + offset))
            return base
        except OSError:
            continue
        finally:
            for probe in sockets:
                probe.close()
    raise RuntimeError("no free ports")


class Up:
    """A running mesh: its command line, its front door, its processes by name."""

    def __init__(self, process: asyncio.subprocess.Process, base: int, home: Path) -> None:
        self.process = process
        self.base = base
        self.home = home
        self.address = f"127.0.0.1:{base}"
        self.channel = grpc.aio.insecure_channel(self.address)
        self.search = SearchServiceStub(self.channel)
        self.environment = os.environ | {"LANEMESH_HOME": str(home), "LANEMESH_GATEWAY": self.address}

    async def command(self, *arguments: str) -> tuple[int, str, str]:
        """Runs `lanemesh …`; returns exit code, standard output and standard error."""
        process = await asyncio.create_subprocess_exec(
            *LANEMESH,
            *arguments,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()

    async def json(self, *arguments: str) -> Any:
        """Runs `lanemesh … --json`; returns the one object it prints."""
        code, out, err = await self.command(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    async def ask(self, query: str = "How many times does PaymentAdapter retry?", **fields: Any) -> SearchResponse:
        """One answer."""
        return await self.search.Search(SearchRequest(query=query, include_lanes=LANES, **fields), timeout=5.0)

    def processes(self) -> dict[str, psutil.Process]:
        """The mesh's processes by name."""
        found = {}
        for child in psutil.Process(self.process.pid).children():
            # One that is being restarted may be gone, or not have become what it will be.
            with suppress(psutil.NoSuchProcess, IndexError):
                found[child.cmdline()[-1].removesuffix("_service")] = child
        return found

    def kill(self, name: str, number: signal.Signals) -> int:
        """Sends a signal to one process; returns its id."""
        pid = self.processes()[name].pid
        os.kill(pid, number)
        return pid


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Up]:
    """The mesh with the demo corpus, on ports and in a home of its own."""
    async with started(tmp_path) as mesh:
        yield mesh


@asynccontextmanager
async def started(tmp_path: Path, *options: str) -> AsyncIterator[Up]:
    """The same with further options."""
    base = free_base()
    process = await asyncio.create_subprocess_exec(
        *LANEMESH,
        "up",
        "--demo",
        "--simulate-providers",
        "--project-root",
        "examples/corpus/payments",
        "--port-base",
        str(base),
        *options,
        env=os.environ | {"LANEMESH_HOME": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    mesh = Up(process, base, tmp_path)
    try:
        said = b""
        while b"serving until" not in said:
            line = await process.stdout.readline()
            assert line, said.decode()
            said += line
        yield mesh
    finally:
        await mesh.channel.close()
        _let_go(process)
        await process.communicate()


def _let_go(process: asyncio.subprocess.Process) -> None:
    """Asks the mesh to stop, whatever state a test left its processes in."""
    # The mesh, or one of its processes that is being restarted, may be gone by now.
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        for child in psutil.Process(process.pid).children():
            with suppress(psutil.NoSuchProcess):
                child.resume()
        process.terminate()
