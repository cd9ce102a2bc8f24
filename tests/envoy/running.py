"""A mesh whose every call goes through the real Envoy: fake lanes and our gateway in this process, Envoy in its own."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from lanemesh.v1.fusion_pb2_grpc import add_FusionServiceServicer_to_server
from lanemesh.v1.search_pb2 import DEGRADATION_L0, SearchRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from fusion_service.service import Fusion
from services.runtime import envoy
from services.runtime.errors import StartupError
from services.runtime.server import Service
from tests.support import NOBODY, TABLE, FakeLane, Mesh, lane_server, mesh, serving

PORTS = 12
# Below the ports that the system gives out, and apart from those of other tests.
FIRST, SPAN = 14_000, 8_000
INGRESS, METRICS = 10, 11


def free_base(count: int = PORTS) -> int:
    """The first of so many consecutive free ports, sought from a place of this process's own."""
    start = os.getpid() * count % SPAN
    for base in (FIRST + (start + offset) % SPAN for offset in range(0, SPAN, count)):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for offset, probe in enumerate(sockets):
                probe.bind(("127.0.0.1", base + offset))
            return base
        except OSError:
            continue
        finally:
            for probe in sockets:
                probe.close()
    raise RuntimeError("no free ports")


def merged(values: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The values with more over them, section by section."""
    result = dict(values)
    for name, value in more.items():
        old = result.get(name)
        result[name] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def values_of(
    base: int, folder: Path, endpoints: Mapping[str, Sequence[str]], more: Mapping[str, Any]
) -> dict[str, Any]:
    """What a test tells the chart: where everything is, faster watching, and whatever it is about."""
    own = {
        "workers": 1,
        "config_folder": str(folder),
        "admin_socket": str(folder / "admin.sock"),
        "metrics": {"address": "127.0.0.1", "port": base + METRICS},
        "endpoints": dict(endpoints),
        # A lane that a test does not start is not there at all.
        "peers": {"address": NOBODY},
        "ingress": {"address": "127.0.0.1", "port": base + INGRESS},
        "egress": {"port_base": base},
        "access_log": {"ingress": "all", "egress": "all"},
        "health": {"every_ms": 100, "time_out_ms": 100},
    }
    return {"envoy": merged(own, more)}


@dataclass
class Door:
    """Envoy, running: where its listeners are and what it wrote."""

    base: int
    folder: Path
    # What it is started with beside its configuration.
    options: Sequence[str] = ()
    mesh: Mesh | None = None
    lanes: Mapping[str, Sequence[FakeLane]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.base + INGRESS}"

    @property
    def metrics(self) -> str:
        return f"127.0.0.1:{self.base + METRICS}"

    def egress(self, name: str) -> str:
        """Where the gateway finds a lane, or fusion."""
        return f"127.0.0.1:{self.base + (TABLE.fusion if name == 'fusion' else TABLE.lanes[name]).port}"

    def said(self) -> list[dict[str, Any]]:
        """The whole lines of its log so far; before it has read its configuration it does not write JSON."""
        raw = (self.folder / "envoy.log").read_bytes()
        return [json.loads(line) for line in raw[: raw.rfind(b"\n") + 1].splitlines() if line.startswith(b"{")]

    async def logged(self, **fields: Any) -> dict[str, Any]:
        """The first line that has these fields, once Envoy has written it."""
        async with asyncio.timeout(20):
            while True:
                for line in self.said():
                    if all(line.get(name) == value for name, value in fields.items()):
                        return line
                await asyncio.sleep(0.05)


@asynccontextmanager
async def running(door: Door, values: Mapping[str, Any]) -> AsyncIterator[Door]:
    """Envoy with these values, once it is ready."""
    try:
        config = envoy.render(values, door.folder)
        command = (*envoy.command(config), "--file-flush-interval-msec", "50", *door.options)
    except StartupError as error:
        pytest.skip(error.message)
    with (door.folder / "envoy.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
    try:
        await _ready(process, door)
        yield door
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _ready(process: asyncio.subprocess.Process, door: Door) -> None:
    async with asyncio.timeout(20):
        while (await http(door.metrics, "GET", "/ready"))[0] != 200:
            assert process.returncode is None, (door.folder / "envoy.log").read_text()
            await asyncio.sleep(0.02)


async def http(
    address: str, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """One HTTP/1.1 exchange by hand, so that nothing between the test and Envoy mends what is sent; 0 when refused."""
    host, _, port = address.rpartition(":")
    lines = [f"{method} {path} HTTP/1.1", f"host: {address}", "connection: close", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    try:
        reader, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return 0, {}, b""
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        status, *sent = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        found = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in sent)}
        return int(status.split()[1]), found, await _body(reader, found)
    finally:
        writer.close()


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    """What follows the headers; Envoy keeps the connection a second longer, so its end is not waited for."""
    if "chunked" not in headers.get("transfer-encoding", ""):
        return await reader.readexactly(int(headers.get("content-length", 0)))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    return body


@asynccontextmanager
async def envoyed(
    folder: Path,
    lanes: Mapping[str, Sequence[FakeLane]],
    more: Mapping[str, Any] | None = None,
    options: Sequence[str] = (),
) -> AsyncIterator[Door]:
    """A mesh of these replicas behind Envoy, egress and ingress."""
    async with AsyncExitStack() as stack:
        endpoints = {
            name: [await stack.enter_async_context(lane_server(name, replica, TABLE)) for replica in replicas]
            for name, replicas in lanes.items()
        }
        servicer = Fusion(TABLE)
        service = Service(
            "lanemesh.v1.FusionService", lambda server: add_FusionServiceServicer_to_server(servicer, server)
        )
        endpoints["fusion"] = [await stack.enter_async_context(serving(service))]
        door = Door(free_base(), folder, options, lanes=lanes)
        inside = await stack.enter_async_context(
            mesh({name: door.egress(name) for name in lanes}, fusion=door.egress("fusion"))
        )
        door.mesh = inside
        endpoints["gateway"] = [inside.address]
        values = values_of(door.base, folder, endpoints, more or {})
        await stack.enter_async_context(running(door, values))
        await _connected(inside)
        yield door


async def _connected(inside: Mesh) -> None:
    """Waits until the gateway, which was there before Envoy, has found its way through."""
    async with asyncio.timeout(20):
        while (await inside.search.Search(SearchRequest(query="ready?"))).degradation != DEGRADATION_L0:  # noqa: ASYNC110 - Envoy is another process
            await asyncio.sleep(0.02)


@asynccontextmanager
async def asking(door: Door) -> AsyncIterator[SearchServiceStub]:
    """A caller that neither retries nor knows of a mesh."""
    options = [("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
    async with grpc.aio.insecure_channel(door.address, options=options) as channel:
        yield SearchServiceStub(channel)
