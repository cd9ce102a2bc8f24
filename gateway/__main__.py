"""Serves the gateway: `python -m gateway`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from lanemesh.v1.search_pb2_grpc import add_SearchServiceServicer_to_server

from gateway.callers import read_callers
from gateway.doorman import Doorman
from gateway.echo import Wall
from gateway.http import Door, HttpSettings
from gateway.service import Gateway
from gateway.settings import GatewaySettings, check, secured
from gateway.watch import Watch
from services.model.settings import load_synthesis
from services.runtime.certificates import identity
from services.runtime.clients import Peers, PeerSettings, Trust, default_listen
from services.runtime.process import Environment, run
from services.runtime.registry import Table
from services.runtime.server import Server, ServerSettings, Service
from services.runtime.settings import load

log = logging.getLogger(__name__)


async def build(table: Table, environment: Environment) -> tuple[Server, Callable[[], Awaitable[None]]]:
    """The server of the gateway. It is ready when it can be asked: a lost lane does not make it unready."""
    peer_settings = load(PeerSettings, environment)
    default = {"LANEMESH_LISTEN": default_listen(environment, table.gateway_port)}
    settings = load(ServerSettings, default | dict(environment))
    own, http = load(GatewaySettings, environment), load(HttpSettings, environment)
    check(own, settings.listen, http.listen)
    callers = read_callers(own.callers, table.lanes, forwarded=own.forwarded_identity)
    security = secured(own, environment)
    certificates = security.certificates if security else None
    peers = Peers.of_table(table, peer_settings, certificates)
    synthesis = load_synthesis(environment)
    synthesis_ms = synthesis.most_ms if synthesis else 0.0
    gateway = Gateway(table, peers, fusion=own.fusion, synthesis_ms=synthesis_ms, callers=callers)
    service = Service(
        "lanemesh.v1.SearchService",
        lambda server: add_SearchServiceServicer_to_server(gateway, server),
        busy=("Search",),
    )

    async def ready() -> None:
        return None

    wall = Wall()
    doorman = Doorman(gateway.gate, max(mode.deadline_ms for mode in table.modes.values()))
    server = Server(settings, [service], ready, [wall], security, doorman)
    trust = Trust(certificates, identity("gateway")) if certificates else None
    protection = Watch(gateway, server.own_address, wall.word, table.protection.pressure, trust)
    protection.start()
    door = Door(gateway, server.health.ready, http, security) if http.listen else None
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
