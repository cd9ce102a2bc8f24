"""A mesh of index lanes as `lanemesh up` starts it, with a home of its own, used by the command and its client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from bench.local_lane import MEBIBYTE
from bench.processes import free_base
from client import mesh as client

PORTS = 24
MODULE = (sys.executable, "-m", "client.main")


class Mesh:
    """A running mesh."""

    def __init__(self, process: psutil.Process, address: str, home: Path, inside: client.Mesh) -> None:
        self._process = process
        self._address = address
        self._client = inside
        self.home = home

    async def command(self, *arguments: str) -> dict[str, Any]:
        """What a subcommand prints as JSON; its failure ends the bench."""
        environment = os.environ | {"LANEMESH_GATEWAY": self._address}
        process = await asyncio.create_subprocess_exec(
            *MODULE, *arguments, env=environment, stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await process.communicate()
        if process.returncode:
            raise SystemExit(f"bench: lanemesh {arguments[0]} failed with exit code {process.returncode}")
        told: dict[str, Any] = json.loads(printed)
        return told

    async def graph_titles(self, question: str, most: int) -> tuple[list[str], float]:
        """What the kg lane found, by name, and the milliseconds it took."""
        reply = await self._client.search(question, lanes=["kg"], max_results=most, skip_preflight=True)
        elapsed = next(row.elapsed_ms for row in reply.ledger if row.lane == "kg")
        return [result.document.title for result in reply.results if "kg" in result.lanes], elapsed

    def resident(self) -> dict[str, float]:
        """Resident MiB of every lane."""
        children = {child.cmdline()[-1]: child for child in self._process.children()}
        return {name: child.memory_info().rss / MEBIBYTE for name, child in children.items()}


@asynccontextmanager
async def mesh(lanes: str, **settings: str) -> AsyncIterator[Mesh]:
    """The mesh of these lanes on free ports, gone with its data at the end."""
    base = free_base(PORTS)
    address = f"127.0.0.1:{base}"
    with tempfile.TemporaryDirectory() as home:
        process = await asyncio.create_subprocess_exec(
            *MODULE,
            *("up", "--lanes", lanes, "--port-base", str(base), "--project-root", home),
            env=os.environ | {"LANEMESH_HOME": home} | settings,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            while b"serving until" not in (line := await process.stdout.readline()):
                if not line:
                    raise SystemExit("bench: the mesh did not come up")
            async with client.Mesh(address) as inside:
                yield Mesh(psutil.Process(process.pid), address, Path(home), inside)
        finally:
            process.terminate()
            await process.wait()
