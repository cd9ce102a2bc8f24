"""Serves fusion: `python -m fusion_service`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from lanemesh.v1.fusion_pb2_grpc import add_FusionServiceServicer_to_server

from fusion_service.compose import Composer
from fusion_service.service import Fusion
from services.model.settings import load_synthesis
from services.runtime.clients import default_listen
from services.runtime.process import Environment, run
from services.runtime.registry import Table
from services.runtime.server import Server, ServerSettings, Service, secured
from services.runtime.settings import load


async def build(table: Table, environment: Environment) -> tuple[Server, Callable[[], Awaitable[None]]]:
    """The server of the fusion service. Without a model it still answers, so it is always ready."""
    default = {"LANEMESH_LISTEN": default_listen(environment, table.fusion.port)}
    settings = load(ServerSettings, default | dict(environment))
    composer = _composer(table, environment)
    fusion = Fusion(table, composer)
    service = Service("lanemesh.v1.FusionService", lambda server: add_FusionServiceServicer_to_server(fusion, server))

    async def check() -> None:
        return None

    async def close() -> None:
        if composer is not None:
            await composer.close()

    return Server(settings, [service], check, security=secured("fusion", environment)), close


def _composer(table: Table, environment: Environment) -> Composer | None:
    """The model that writes answers, when one is configured."""
    synthesis = load_synthesis(environment)
    if synthesis is None:
        return None
    # Its HTTP client is large; a process without a model stays small.
    from services.model.chat import ChatModel

    return Composer(ChatModel(synthesis.model), table.limits.context_tokens)


if __name__ == "__main__":
    run("fusion", build)
