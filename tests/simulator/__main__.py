"""Serves the simulator until Ctrl-C: `python -m tests.simulator [PORT]`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from tests.simulator.server import simulating


async def serve(port: int) -> None:
    async with simulating(port) as simulator:
        for name, value in simulator.environment().items():
            print(f"{name}={value}", flush=True)
        await asyncio.Event().wait()


with suppress(KeyboardInterrupt):
    asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
