"""Real processes of the mesh, followed through the JSON lines of their logs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def environment(home: Path, **settings: str) -> dict[str, str]:
    """The environment of a process that must not see the settings of whoever runs the tests."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LANEMESH_", "OTEL_"))}
    own = {
        "LANEMESH_HOME": str(home),
        "LANEMESH_PROJECT_ROOT": str(home),
        "LANEMESH_LISTEN": "127.0.0.1:0",
        "LANEMESH_GRACE_SECONDS": "60",
    }
    return inherited | own | settings


@dataclass
class Running:
    process: asyncio.subprocess.Process
    port: int = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def logged(self, message: str) -> dict[str, Any]:
        """The next log line with that message."""
        assert self.process.stderr
        async for raw in self.process.stderr:
            line: dict[str, Any] = json.loads(raw)
            if line["message"] == message:
                return line
        raise AssertionError(f"the process ended without saying {message!r}")

    def tell(self) -> None:
        """Sends a line to standard input."""
        assert self.process.stdin
        self.process.stdin.write(b"\n")


async def start(*module: str, environment: dict[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", *module),
        cwd=ROOT,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@asynccontextmanager
async def running(*module: str, environment: dict[str, str]) -> AsyncIterator[Running]:
    """The process once it listens; it does not outlive the block."""
    process = await start(*module, environment=environment)
    followed = Running(process)
    try:
        async with asyncio.timeout(60):
            followed.port = (await followed.logged("listening"))["port"]
            yield followed
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def ended(*module: str, environment: dict[str, str]) -> tuple[int, list[str]]:
    """The exit code and the lines of standard error of a process that is not to start."""
    process = await start(*module, environment=environment)
    try:
        async with asyncio.timeout(60):
            _, errors = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.communicate()
        raise
    assert process.returncode is not None
    return process.returncode, errors.decode().splitlines()
