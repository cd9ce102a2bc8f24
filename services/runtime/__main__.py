"""Serves one lane: `python -m services.runtime keyword`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Awaitable, Callable

from lanemesh.v1.index_pb2_grpc import add_IndexServiceServicer_to_server
from lanemesh.v1.lane_pb2_grpc import add_LaneServiceServicer_to_server

from services.runtime.clients import default_listen
from services.runtime.errors import StartupError
from services.runtime.lane import IndexLane, Lane
from services.runtime.process import Environment, run
from services.runtime.registry import Table
from services.runtime.server import Server, ServerSettings, Service, secured
from services.runtime.servicer import IndexServicer, LaneServicer
from services.runtime.settings import load


def services_of(name: str, lane: Lane, table: Table) -> list[Service]:
    """The gRPC services of a lane: LaneService, and IndexService where it keeps an index."""
    servicer = LaneServicer(name, lane, table.lanes[name].budget_ms)
    services = [Service("lanemesh.v1.LaneService", lambda server: add_LaneServiceServicer_to_server(servicer, server))]
    if isinstance(lane, IndexLane):
        index = IndexServicer(lane)
        services.append(
            Service("lanemesh.v1.IndexService", lambda server: add_IndexServiceServicer_to_server(index, server))
        )
    return services


async def open_lane(name: str, environment: Environment) -> Lane:
    """The lane of that name, from services/<name>/lane.py."""
    try:
        module = importlib.import_module(f"services.{name}.lane")
    except ModuleNotFoundError as error:
        if error.name not in {f"services.{name}", f"services.{name}.lane"}:
            raise
        raise StartupError(f"no lane named {name!r}: services/{name}/lane.py is not there") from None
    lane: Lane = await module.open_lane(environment)
    return lane


async def build(name: str, table: Table, environment: Environment) -> tuple[Server, Callable[[], Awaitable[None]]]:
    """The server of one lane."""
    if name not in table.lanes:
        raise StartupError(f"unknown lane {name!r}; the table has {', '.join(table.lanes)}")
    default = {"LANEMESH_LISTEN": default_listen(environment, table.lanes[name].port)}
    settings = load(ServerSettings, default | dict(environment))
    security = secured(name, environment)
    lane = await open_lane(name, environment)
    return Server(settings, services_of(name, lane, table), lane.check, security=security), lane.close


def main() -> None:
    """Entry point."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m services.runtime LANE")
    name = sys.argv[1]
    run(name, lambda table, environment: build(name, table, environment))


if __name__ == "__main__":
    main()
