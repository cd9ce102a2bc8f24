"""`lanemesh up`: the whole mesh on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from client import certs, ingest, options, page, reading
from client.mesh import DEFAULT_ADDRESS, Mesh
from client.output import fail, new_console
from services.runtime import dev, envoy, jaeger
from services.runtime.certificates import Files
from services.runtime.errors import InvalidRequest, LanemeshError, StartupError
from services.runtime.registry import Table, load_table
from services.runtime.settings import load
from services.runtime.supervise import Program, Supervisor

SIMULATOR = Path(__file__).parents[1] / "tests" / "simulator"
CORPUS = Path(__file__).parents[1] / "examples" / "corpus"
HIGHEST_PORT = 65_535


def register(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "--lanes", metavar="A,B", type=options.words, help="start these lanes (default: the lane table)"
    )
    parser.add_argument("--port-base", metavar="N", type=int, help="the gateway's port; the others follow it")
    parser.add_argument("--project-root", metavar="DIR", type=Path, help="what the local lane reads (default: here)")
    parser.add_argument(
        "--simulate-providers",
        action="store_true",
        help="answer for the outside providers with a simulator; its results are marked (checkout only)",
    )
    parser.add_argument("--jaeger", action="store_true", help="start Jaeger beside it and send every trace there")
    parser.add_argument(
        "--envoy", action="store_true", help="put Envoy before the gateway and between it and the lanes"
    )
    parser.add_argument(
        "--tls", action="store_true", help="encrypt and authenticate every connection, by certificates made as needed"
    )
    parser.add_argument(
        "--metrics", action="store_true", help="serve every process's figures for Prometheus, on loopback"
    )
    parser.add_argument("--demo", action="store_true", help="ingest the demo corpus after the start")
    parser.add_argument("--ask", metavar="QUERY", help="ask this after the start")
    parser.add_argument("--once", action="store_true", help="stop after that instead of serving")


async def run(arguments: argparse.Namespace) -> int:
    """Starts the mesh and stays with it."""
    settings = _settings(arguments)
    table = _table(settings)
    if arguments.demo and not CORPUS.is_dir():
        raise InvalidRequest("demo", "the demo corpus is part of a checkout and is not here")
    console = new_console()
    with dev.sole_use(settings.home):
        async with AsyncExitStack() as stack:
            environment = dict(os.environ)
            if arguments.simulate_providers:
                environment |= await _simulate(stack, console)
            beside: list[Program] = []
            if arguments.jaeger:
                beside.append(_jaeger(settings, environment))
            if arguments.metrics and settings.port_base + dev.METRICS_OFFSET + len(table.lanes) + 1 > HIGHEST_PORT:
                raise InvalidRequest("port_base", f"{settings.port_base} leaves no ports for figures")
            stages = dev.stages(table, settings, environment, metrics=arguments.metrics)
            tls = None
            if arguments.tls:
                stages, tls = _secured(stages, settings.home.resolve() / certs.FOLDER)
            if arguments.envoy:
                stages = _envoy(stages, table, settings)
            # What stands beside the mesh stops last: it hears the others to their end.
            supervisor = Supervisor([*stages, beside], settings.home / "logs", lambda line: console.print(Text(line)))
            session = _Session(console, supervisor, arguments, tls)
            await dev.run(supervisor, session)
            return session.code


async def _simulate(stack: AsyncExitStack, console: Console) -> dict[str, str]:
    """Starts the simulator until the stack ends; the variables that lead the lanes to it."""
    if not SIMULATOR.is_dir():
        raise InvalidRequest("simulate_providers", "the provider simulator is part of a checkout and is not here")
    server = importlib.import_module("tests.simulator.server")
    simulator = await stack.enter_async_context(server.simulating())
    console.print(Text("outside providers are simulated: no result of web, news or markets is real", "bold yellow"))
    environment: dict[str, str] = simulator.environment()
    return environment


def _jaeger(settings: dev.DevSettings, environment: dict[str, str]) -> Program:
    """Jaeger for this mesh; its processes are told in `environment` to send it every span."""
    ports = jaeger.Ports.beside(settings.port_base)
    if ports.query > HIGHEST_PORT:
        raise InvalidRequest("port_base", f"{settings.port_base} leaves no ports for Jaeger")
    environment |= {"LANEMESH_TRACE_SAMPLE_RATE": "1"} | environment | ports.environment()
    return jaeger.program(ports, environment)


def _envoy(stages: list[list[Program]], table: Table, settings: dev.DevSettings) -> list[list[Program]]:
    """The mesh with Envoy at the gateway's port, and the gateway behind it."""
    ports = envoy.Ports.beside(settings.port_base)
    if ports.metrics > HIGHEST_PORT:
        raise InvalidRequest("port_base", f"{settings.port_base} leaves no ports for Envoy")
    return envoy.between(stages, table, ports, settings.home, settings.config)


class _Session:
    """What happens once the mesh is up; `code` is the exit code it leads to."""

    def __init__(
        self, console: Console, supervisor: Supervisor, arguments: argparse.Namespace, tls: Files | None
    ) -> None:
        self.code = 0
        self._tls = tls
        self._console = console
        self._children = supervisor.children
        # Callers come in through Envoy where it stands before the gateway.
        self._door = envoy.NAME if envoy.NAME in self._children else "gateway"
        self._address = self._children[self._door].program.address
        self._arguments = arguments

    async def __call__(self) -> bool:
        """Greets, ingests, asks; returns whether to go on serving."""
        self._greet()
        try:
            async with Mesh(self._address, tls=self._tls) as mesh:
                if self._arguments.demo:
                    await self._ingest(mesh)
                if self._arguments.ask is not None:
                    await self._ask(mesh)
        except LanemeshError as error:
            self.code = fail(error, as_json=False)
        if self._arguments.once:
            return False
        self.code = 0
        self._console.print(Text("\nserving until Ctrl-C", "dim"))
        return True

    def _greet(self) -> None:
        where = "" if self._address == DEFAULT_ADDRESS else f"LANEMESH_GATEWAY={self._address} "
        lines = [
            f"\nThe mesh is up: {len(self._children)} processes, {self._door} at {self._address}.",
            f'  ask     {where}lanemesh ask "How does OrderService connect to PaymentGateway?"',
            f"  ingest  {where}lanemesh ingest PATH",
            f"  lanes   {where}lanemesh lanes",
            f"  logs    {self._children['gateway'].log.parent}",
        ]
        if self._door == envoy.NAME:
            if self._tls is None:
                asked = "-H 'Content-Type: application/json' -d '{\"query\": …}'"
                lines.append(f"  JSON    curl -s {self._address}/v1/search {asked}")
            lines.append("  Envoy   stands at the gateway's port; the gateway has moved behind it")
        if jaeger.NAME in self._children:
            lines.append(f"  traces  LANEMESH_JAEGER_URL=http://{self._children[jaeger.NAME].program.address}")
        if self._arguments.metrics:
            port = self._children["gateway"].program.environment["LANEMESH_METRICS_PORT"]
            lines.append(f"  figures curl -s 127.0.0.1:{port}/metrics, and as far above each other process's own port")
        if self._tls is not None:
            named = " ".join(f"{variable}={path}" for variable, path in self._tls.named().items())
            lines.append(f"  as      export {named}")
        for line in lines:
            self._console.print(Text(line), soft_wrap=True)

    async def _ingest(self, mesh: Mesh) -> None:
        summary = await ingest.ingest(mesh, reading.read(reading.find([str(CORPUS)])))
        unkept = f"; {summary.unkept} are of a kind no running lane keeps" if summary.unkept else ""
        self._console.print(Text(f"\ndemo corpus: {summary.acknowledged} of {summary.received} records stored{unkept}"))
        if not summary.complete:
            raise LanemeshError(summary.trouble())

    async def _ask(self, mesh: Mesh) -> None:
        self._console.print(Text(f"\n> {self._arguments.ask}\n", "bold"))
        page.show(self._console, await mesh.search(self._arguments.ask))


def _secured(stages: Sequence[Sequence[Program]], folder: Path) -> tuple[list[list[Program]], Files]:
    """The programs, each with a certificate of its own; and the client's."""
    certs.make(folder, [program.name for stage in stages for program in stage])
    secured = [
        [
            replace(program, environment={**program.environment, **certs.environment(folder, program.name)})
            for program in stage
        ]
        for stage in stages
    ]
    return secured, certs.files(folder, certs.CLIENT)


def _settings(arguments: argparse.Namespace) -> dev.DevSettings:
    settings = load(dev.DevSettings, os.environ)
    told: dict[str, Any] = {
        "lanes": None if arguments.lanes is None else tuple(arguments.lanes),
        "port_base": arguments.port_base,
        "project_root": arguments.project_root,
    }
    settings = replace(settings, **{name: value for name, value in told.items() if value is not None})
    if not settings.project_root.is_dir():
        raise InvalidRequest("project_root", f"{settings.project_root} is not a folder")
    return settings


def _table(settings: dev.DevSettings) -> Table:
    table = load_table(settings.config)
    try:
        table = table.only(set(settings.lanes)) if settings.lanes else table
    except StartupError as error:
        raise InvalidRequest("lanes", error.message) from None
    ports = [table.gateway_port, table.fusion.port, *(lane.port for lane in table.enabled())]
    highest = HIGHEST_PORT - max(ports)
    if not 1 <= settings.port_base <= highest:
        raise InvalidRequest("port_base", f"expected 1 to {highest}")
    return table
