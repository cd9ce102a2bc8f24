"""A whole mesh of processes with the real Jaeger beside it, started once as a user would start it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias
from urllib.error import HTTPError
from urllib.request import urlopen

import grpc
import psutil
import pytest
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse, StreamSearchRequest, StreamSearchResponse
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from services.runtime import jaeger
from services.runtime.registry import load_table
from services.runtime.trace import NAME_ONLY, TRACEPARENT, TRACESTATE
from tests.trace.graph import Graph, read

ROOT = Path(__file__).parents[2]
LANEMESH = (sys.executable, "-m", "client.main")
# Where the ports of a mesh may lie: below those that the system gives out.
FIRST, LAST = 23_000, 32_000
# Spans leave their process within a second or so.
ARRIVAL_SECONDS = 30.0
ABSENT = f"Jaeger {jaeger.VERSION} is not built on this machine; `make test-trace` builds it where Go is"


Stream: TypeAlias = "grpc.aio.UnaryStreamCall[StreamSearchRequest, StreamSearchResponse]"


class Traced:
    """The running mesh, and its traces as Jaeger has them."""

    def __init__(self, process: subprocess.Popen[str], base: int, environment: dict[str, str]) -> None:
        ports = jaeger.Ports.beside(base)
        self.address = f"127.0.0.1:{base}"
        self.jaeger = f"http://127.0.0.1:{ports.query}"
        self.environment = environment | ports.environment() | {"LANEMESH_GATEWAY": self.address}
        self._process = process

    @contextmanager
    def stopped(self, lane: str) -> Iterator[None]:
        """Stops one process without its peers noticing: it hangs."""
        child = self._child(lane)
        child.suspend()
        try:
            yield
        finally:
            child.resume()

    def _child(self, lane: str) -> psutil.Process:
        children = psutil.Process(self._process.pid).children()
        (found,) = [child for child in children if child.cmdline()[-2:] == ["services.runtime", lane]]
        return found

    async def trace(self, trace_id: str, is_whole: Callable[[Graph], list[str]]) -> Graph:
        """The trace once it is whole, as the check says that returns what is wrong with it; else it fails with that."""
        graph, problems = Graph([]), ["it is not there"]
        with suppress(TimeoutError):
            async with asyncio.timeout(ARRIVAL_SECONDS):
                while problems:
                    graph = await asyncio.to_thread(self._fetch, trace_id)
                    problems = is_whole(graph) if graph.spans else problems
                    await asyncio.sleep(0.1 if problems else 0)
        assert not problems, f"trace {trace_id}: {problems}\n{graph}"
        return graph

    def _fetch(self, trace_id: str) -> Graph:
        try:
            with urlopen(f"{self.jaeger}/api/v3/traces/{trace_id}", timeout=5) as reply:
                return read(json.load(reply))
        except HTTPError as error:
            if error.code != 404:
                raise
            return Graph([])


class Door:
    """The gateway's door, for one test."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = SearchServiceStub(channel)

    async def search(self, query: str, metadata: Any = (), **fields: Any) -> SearchResponse:
        """One answer."""
        return await self._stub.Search(SearchRequest(query=query, **fields), timeout=5.0, metadata=metadata)

    def stream(
        self, query: str, metadata: Any = (), **fields: Any
    ) -> grpc.aio.UnaryStreamCall[Any, StreamSearchResponse]:
        """The same as it happens."""
        request = StreamSearchRequest(search=SearchRequest(query=query, **fields))
        return self._stub.StreamSearch(request, timeout=5.0, metadata=metadata)


def named_trace() -> tuple[str, tuple[tuple[str, str], ...]]:
    """The name of a trace, and the metadata that give it to a call without a span above."""
    trace_id = f"{random.getrandbits(128):032x}"
    return trace_id, ((TRACEPARENT, f"00-{trace_id}-{1:016x}-00"), (TRACESTATE, NAME_ONLY))


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    """The mesh with the demo corpus, simulated providers and Jaeger."""
    if not jaeger.binary(os.environ).is_file():
        pytest.skip(ABSENT)
    base = free_base()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LANEMESH_", "OTEL_"))}
    environment = inherited | {"LANEMESH_HOME": str(tmp_path_factory.mktemp("home")), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [
            *LANEMESH,
            *("up", "--jaeger", "--demo", "--simulate-providers", "--port-base", str(base)),
            *("--project-root", "examples/corpus/payments"),
        ],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = ""
        while "serving until" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        yield Traced(process, base, environment)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


@pytest.fixture
async def door(mesh: Traced) -> AsyncIterator[Door]:
    """A channel to the gateway."""
    async with grpc.aio.insecure_channel(mesh.address) as channel:
        yield Door(channel)


def free_base() -> int:
    """A port base at which the whole mesh and its Jaeger find their ports free, sought from a place of this process."""
    table = load_table()
    jaegers = jaeger.Ports.beside(0)
    offsets = [
        table.gateway_port,
        table.fusion.port,
        *(lane.port for lane in table.enabled()),
        jaegers.otlp,
        jaegers.query,
    ]
    step = max(offsets) + 1
    bases = list(range(FIRST, LAST - step, step))
    start = os.getpid() % len(bases)
    for base in bases[start:] + bases[:start]:
        if all(_is_free(base + offset) for offset in offsets):
            return base
    raise RuntimeError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
