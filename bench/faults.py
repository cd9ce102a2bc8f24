"""`python -m bench.faults`: what the mesh keeps when parts of it hang, die or are given up, on real processes.

Writes bench/FAULTS.md. Every figure is measured on the mesh that `lanemesh up` starts, with the demo corpus.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import psutil
import uvloop
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from bench.null import LANES
from bench.processes import free_base
from services.runtime.__main__ import services_of
from services.runtime.registry import load_table
from services.runtime.server import Server, ServerSettings

if TYPE_CHECKING:
    from lanemesh.v1.search_pb2_grpc import SearchServiceAsyncStub

HERE = Path(__file__).parent
QUERY = "How many times does PaymentAdapter retry a failed charge?"
DEADLINE = 1.0
# The lanes that are asked, whatever the question.
PAIR = ("keyword", "local")


class Up:
    """A mesh started by `lanemesh up`, and its processes by name."""

    def __init__(self, process: psutil.Process, search: SearchServiceAsyncStub) -> None:
        self._process = process
        self.search = search

    def pid(self, name: str) -> int:
        """The process id of a part, as it is now."""
        for child in self._process.children():
            words = child.cmdline()
            if words[-1] == name or words[-1] == f"{name}_service":
                return child.pid
        raise LookupError(name)

    def pids(self) -> set[int]:
        """All process ids."""
        return {child.pid for child in self._process.children()}

    def resident(self) -> dict[str, float]:
        """Resident megabytes of every process."""
        return {child.cmdline()[-1]: child.memory_info().rss / 1e6 for child in self._process.children()}

    async def ask(self) -> tuple[SearchResponse, float]:
        """One answer under the deadline, and the seconds it took."""
        started = time.perf_counter()
        reply = await self.search.Search(SearchRequest(query=QUERY, include_lanes=PAIR), timeout=DEADLINE + 0.5)
        return reply, time.perf_counter() - started


@asynccontextmanager
async def up() -> AsyncIterator[Up]:
    """The mesh on free ports with a home of its own."""
    base = free_base(24)
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "client.main", "up", "--demo", "--port-base", str(base)]
        process = await asyncio.create_subprocess_exec(
            *command, env=os.environ | {"LANEMESH_HOME": home}, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        while (line := await process.stdout.readline()) and b"serving until" not in line:
            pass
        async with grpc.aio.insecure_channel(f"127.0.0.1:{base}") as channel:
            yield Up(psutil.Process(process.pid), SearchServiceStub(channel))
        process.terminate()
        await process.wait()


def row_of(reply: SearchResponse, lane: str) -> tuple[str, str]:
    """Status and reason of a lane's row."""
    row = next(row for row in reply.ledger if row.lane == lane)
    return lane_pb2.LaneStatus.Name(row.status).removeprefix("LANE_STATUS_"), row.reason


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def stopped_lane(mesh: Up, queries: int = 200) -> list[str]:
    """One lane stopped by SIGSTOP; queries with a 1 s deadline, four at a time."""
    pid = mesh.pid("local")
    os.kill(pid, signal.SIGSTOP)
    lateness: list[float] = []
    rows: set[tuple[str, str]] = set()
    with_evidence = 0

    async def client(count: int) -> None:
        nonlocal with_evidence
        for _ in range(count):
            started = time.perf_counter()
            reply = await mesh.search.Search(SearchRequest(query=QUERY, include_lanes=PAIR), timeout=DEADLINE)
            lateness.append(time.perf_counter() - started - DEADLINE)
            rows.add(row_of(reply, "local"))
            with_evidence += bool(reply.results)

    await asyncio.gather(*(client(queries // 4) for _ in range(4)))
    os.kill(pid, signal.SIGCONT)
    await _back(mesh, "local")
    return [
        f"lane `local` under SIGSTOP, {queries} queries with a 1 s deadline",
        f"answered {len(lateness)}, with the others' evidence {with_evidence}; ledger {sorted(rows)}; "
        f"answer after the deadline by p50 {percentile(lateness, 0.5) * 1000:.0f} ms, "
        f"p99 {percentile(lateness, 0.99) * 1000:.0f} ms (negative: before it)",
    ]


async def killed_lane(mesh: Up) -> list[str]:
    """One lane killed: what the ledger says, and how soon it is back once it listens again."""
    others = mesh.pids() - {mesh.pid("local")}
    os.kill(mesh.pid("local"), signal.SIGKILL)
    first, _ = await mesh.ask()
    listening = back = 0.0
    while not back:
        with_port = _listens(mesh, "local")
        reply, _ = await mesh.ask()
        if with_port and not listening:
            listening = time.perf_counter()
        if row_of(reply, "local")[0] == "OK":
            back = time.perf_counter()
    return [
        "lane `local` killed by SIGKILL",
        f"first answer says {row_of(first, 'local')}; in the answers again "
        f"{max(0.0, back - (listening or back)) * 1000:.0f} ms after it was seen listening; "
        f"other processes restarted: {len(others - mesh.pids())}",
    ]


async def _back(mesh: Up, lane: str) -> None:
    """Asks until the lane answers again, so that what is measured next starts from a whole mesh."""
    while row_of((await mesh.ask())[0], lane)[0] != "OK":
        pass


def _listens(mesh: Up, name: str) -> bool:
    try:
        connections = psutil.Process(mesh.pid(name)).net_connections(kind="tcp")
    except (LookupError, psutil.NoSuchProcess):
        return False
    return any(connection.status == psutil.CONN_LISTEN for connection in connections)


async def lost_fusion(mesh: Up) -> list[str]:
    """The fusion service stopped: the lanes' own order, flagged, in time."""
    pid = mesh.pid("fusion")
    os.kill(pid, signal.SIGSTOP)
    reply, seconds = await mesh.ask()
    os.kill(pid, signal.SIGCONT)
    return [
        "fusion under SIGSTOP",
        f"{len(reply.results)} results in the lanes' own order after {seconds * 1000:.0f} ms, "
        f"fusion_error {reply.fusion_error}",
    ]


class _Hanging:
    """A lane that never answers and counts its handlers."""

    running = 0

    async def retrieve(self, _request: RetrieveRequest, _reply: RetrieveResponse) -> None:
        _Hanging.running += 1
        try:
            await asyncio.Event().wait()
        finally:
            _Hanging.running -= 1

    async def check(self) -> None:
        return None

    async def close(self) -> None:
        return None


async def cancelled(times: int = 50) -> list[str]:
    """The client gives up while seven lanes hang: how long any handler lives on."""
    base, table = free_base(24), load_table()
    servers = []
    for name in LANES:
        listen = ServerSettings(listen=f"127.0.0.1:{base + table.lanes[name].port}")
        servers.append(Server(listen, services_of(name, _Hanging(), table), _Hanging().check))
        await servers[-1].start()
    environment = os.environ | {"LANEMESH_PORT_BASE": str(base), "LANEMESH_LANES": ",".join(LANES)}
    gateway = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", env=environment, stderr=asyncio.subprocess.DEVNULL
    )
    lived: list[float] = []
    async with grpc.aio.insecure_channel(f"127.0.0.1:{base}") as channel:
        await asyncio.wait_for(channel.channel_ready(), 20)
        search = SearchServiceStub(channel).Search
        for _ in range(times):
            call = search(SearchRequest(query=QUERY, include_lanes=LANES), timeout=5.0)
            while _Hanging.running < len(LANES):
                await asyncio.sleep(0.001)
            call.cancel()
            started = time.perf_counter()
            while _Hanging.running:
                await asyncio.sleep(0.0005)
            lived.append(time.perf_counter() - started)
    gateway.terminate()
    await gateway.wait()
    await asyncio.gather(*(server.stop() for server in servers))
    return [
        f"client cancels {times} times, seven lanes hanging",
        f"the last of 7 handlers is gone after p50 {percentile(lived, 0.5) * 1000:.1f} ms, "
        f"max {max(lived) * 1000:.1f} ms",
    ]


async def drained(mesh: Up, name: str, clients: int = 16) -> list[str]:
    """SIGTERM to one process under load: what became of the requests."""
    codes: dict[str, int] = {}
    rows: dict[str, int] = {}
    told = asyncio.Event()

    async def client() -> None:
        for number in range(60):
            if number == 20:
                told.set()
            try:
                reply, _ = await mesh.ask()
            except grpc.aio.AioRpcError as error:
                # A call that never reached the process says so; anything else had been accepted.
                refused = "onnect" in (error.details() or "")
                kind = "refused" if refused else f"failed: {error.code().name} {error.details()}"
                codes[kind] = codes.get(kind, 0) + 1
                await asyncio.sleep(0.02)
                continue
            codes["OK"] = codes.get("OK", 0) + 1
            if name in LANES:
                row = " ".join(row_of(reply, name)).strip()
                rows[row] = rows.get(row, 0) + 1

    async def terminate() -> None:
        await told.wait()
        os.kill(mesh.pid(name), signal.SIGTERM)

    await asyncio.gather(terminate(), *(client() for _ in range(clients)))
    return [f"SIGTERM to `{name}`, {clients} clients", f"requests {codes}" + (f"; its rows {rows}" if rows else "")]


async def main() -> int:
    """Measures everything and writes the table."""
    found: list[list[str]] = []
    async with up() as mesh:
        await mesh.ask()
        resident = mesh.resident()
        found.append(["resident at rest, MB", ", ".join(f"{name} {size:.0f}" for name, size in resident.items())])
        mean = sum(resident.values()) / len(resident)
        found.append(["ten such processes, MB", f"{10 * mean:.0f} (ten times the mean of {len(resident)})"])
        found.append(await stopped_lane(mesh))
        found.append(await killed_lane(mesh))
        found.append(await lost_fusion(mesh))
        for name in ("local", "keyword", "fusion", "gateway"):
            found.append(await drained(mesh, name))
            for _ in range(100):
                try:
                    await mesh.ask()
                    break
                except grpc.aio.AioRpcError:
                    await asyncio.sleep(0.1)
    found.append(await cancelled())
    lines = ["# Faults", "", "| what | measured |", "|---|---|", *(f"| {what} | {value} |" for what, value in found)]
    (HERE / "FAULTS.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
