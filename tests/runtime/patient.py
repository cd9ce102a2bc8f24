"""A process whose lane answers when its standard input says so: `python -m tests.runtime.patient`."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable

from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.runtime.__main__ import services_of
from services.runtime.process import Environment, run
from services.runtime.registry import Table
from services.runtime.server import Server, ServerSettings
from services.runtime.settings import load
from tests.support import evidence

log = logging.getLogger(__name__)


class PatientLane:
    """Says in the log that it was asked, then waits for a line of standard input; only the query "now" does not."""

    def __init__(self, told: asyncio.StreamReader) -> None:
        self._told = told

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        log.info("asked")
        if request.query != "now":
            await self._told.readline()
        reply.evidence.append(evidence("patience"))

    async def check(self) -> None:
        return None

    async def close(self) -> None:
        log.info("closed")


async def build(table: Table, environment: Environment) -> tuple[Server, Callable[[], Awaitable[None]]]:
    told = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(told), sys.stdin)
    lane = PatientLane(told)
    return Server(load(ServerSettings, environment), services_of("local", lane, table), lane.check), lane.close


if __name__ == "__main__":
    run("patient", build)
