"""Serves fusion: `python -m fusion_service`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from lanemesh.v1.fusion_pb2_grpc import add_FusionServiceServicer_to_server

from fusion_service.service import Fusion
from services.runtime.clients import default_listen
from services.runtime.process import Environment, run
from services.runtime.registry import Table
from services.runtime.server import Server, ServerSettings, Service, secured
from services.runtime.settings import load


async def build(table: Table, environment: Environment) -> tuple[Server, Callable[[], Awaitable[None]]]:
    """The server of the fusion service. It needs nothing but itself, so it is always ready."""
    default = {"LANEMESH_LISTEN": default_listen(environment, table.fusion.port)}
    settings = load(ServerSettings, default | dict(environment))
    fusion = Fusion(table)
    service = Service("lanemesh.v1.FusionService", lambda server: add_FusionServiceServicer_to_server(fusion, server))

    async def nothing() -> None:
        return None

    return Server(settings, [service], nothing, security=secured("fusion", environment)), nothing


if __name__ == "__main__":
    run("fusion", build)
