"""Serves the gateway: `python -m gateway`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from lanemesh.v1.search_pb2_grpc import add_SearchServiceServicer_to_server

from gateway.doorman import Doorman
from gateway.echo import Wall
from gateway.http import Door, HttpSettings
from gateway.identity import read_callers
from gateway.service import Gateway
from gateway.watch import Watch
from services.runtime.clients import Peers, PeerSettings, default_listen
from services.runtime.process import Environment, run
from services.runtime.registry import Table
from services.runtime.server import Server, ServerSettings, Service
from services.runtime.settings import load, setting

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GatewaySettings:
    """What only the gateway reads."""

    # Off: results stand in the lanes' own order, flagged, and there is no answer text.
    fusion: bool = setting("LANEMESH_FUSION_ENABLED", True)
    # The callers this gateway knows and the access labels they hold.
    callers: Path | None = setting("LANEMESH_CALLERS", None)


async def build(table: Table, environment: Environment) -> tuple[Server, Callable[[], Awaitable[None]]]:
    """The server of the gateway. It is ready when it can be asked: a lost lane does not make it unready."""
    peer_settings = load(PeerSettings, environment)
    default = {"LANEMESH_LISTEN": default_listen(environment, table.gateway_port)}
    settings = load(ServerSettings, default | dict(environment))
    peers = Peers.of_table(table, peer_settings)
    own, http = load(GatewaySettings, environment), load(HttpSettings, environment)
    gateway = Gateway(table, peers, fusion=own.fusion, callers=read_callers(own.callers))
    service = Service("lanemesh.v1.SearchService", lambda server: add_SearchServiceServicer_to_server(gateway, server))

    async def check() -> None:
        return None

    wall = Wall()
    doorman = Doorman(gateway.gate, max(mode.deadline_ms for mode in table.modes.values()))
    server = Server(settings, [service], check, [wall, doorman])
    protection = Watch(gateway, server.own_address, wall.word, table.protection.pressure)
    protection.start()
    door = Door(gateway, server.health.ready, http) if http.listen else None
    if door is not None:
        log.info("listening for HTTP", extra={"port": await door.start()})

    async def close() -> None:
        if door is not None:
            await door.stop()
        await protection.stop()
        await peers.close()

    return server, close


if __name__ == "__main__":
    run("gateway", build)
