"""A whole mesh of real processes over mutual TLS: asked, fed, and given a new authority while it is asked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest
from lanemesh.v1.lane_pb2 import RetrieveRequest
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from client import certs
from client.authority import Pair, issue, new_authority
from client.mesh import Mesh
from services.runtime.certificates import Certificates, identity
from services.runtime.clients import Trust, health_method, open_channel
from services.runtime.registry import load_table
from tests.mesh.conftest import LANEMESH, free_base

QUERY = "How many times does PaymentAdapter retry a failed charge?"
PROCESSES = ("gateway", "fusion", "keyword", "local")


@dataclass
class Secured:
    base: int
    folder: Path
    logs: Path

    def port(self, process: str) -> str:
        table = load_table()
        offset = {"gateway": 0, "fusion": table.fusion.port}.get(process)
        return f"127.0.0.1:{self.base + (table.lanes[process].port if offset is None else offset)}"

    def renewals(self) -> int:
        """How often processes have said that they use new certificates."""
        logged = [(self.logs / f"{process}.log").read_text() for process in PROCESSES]
        return sum(log.count("new certificates are in use") for log in logged)

    def put(self, process: str, authority: Pair) -> None:
        """Issues the process a new certificate."""
        local = ["localhost", "127.0.0.1"] if process == "gateway" else []
        pair = issue(authority, [identity(process), *local], days=1.0)
        # The key first: until the certificate follows, the two do not fit together, and the old ones stay in use.
        (self.folder / f"{process}.key").write_bytes(pair.key_pem())
        (self.folder / f"{process}.crt").write_bytes(pair.certificate_pem())


def _callers(home: Path) -> str:
    """A file that knows whoever holds the client's certificate."""
    home.mkdir()
    rights = "{names: [client.lanemesh], ingest: true, rate: {per_second: 10000, burst: 10000}}"
    (home / "callers.yaml").write_text(f"callers: {{me: {rights}}}")
    return str(home / "callers.yaml")


@asynccontextmanager
async def secured(home: Path) -> AsyncIterator[Secured]:
    base = free_base()
    settings = {"LANEMESH_HOME": str(home), "LANEMESH_TLS_RELOAD_SECONDS": "0.1", "LANEMESH_CALLERS": _callers(home)}
    process = await asyncio.create_subprocess_exec(
        *(*LANEMESH, "up", "--tls", "--lanes", "keyword,local", "--demo", "--port-base", str(base)),
        *("--project-root", "examples/corpus/payments"),
        env=os.environ | settings,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    try:
        said = b""
        while b"serving until" not in said:
            line = await process.stdout.readline()
            assert line, said.decode()
            said += line
        yield Secured(base, home / certs.FOLDER, home / "logs")
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def rotate(mesh: Secured, asked: list[int]) -> None:
    """A new authority beside the old one, new certificates, then without the old one."""
    old = Pair.read((mesh.folder / "ca.crt").read_bytes(), (mesh.folder / "ca.key").read_bytes())
    new = new_authority()

    async def taken_up(least: int, before: int) -> None:
        seen = len(asked)
        # Other processes have no event to wait for.
        while mesh.renewals() < before + least or len(asked) < seen + 20:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    before = mesh.renewals()
    (mesh.folder / "ca.crt").write_bytes(new.certificate_pem() + old.certificate_pem())
    await taken_up(len(PROCESSES), before)
    for process in (*PROCESSES, certs.CLIENT):
        before = mesh.renewals()
        mesh.put(process, new)
        await taken_up(process in PROCESSES, before)
    before = mesh.renewals()
    (mesh.folder / "ca.crt").write_bytes(new.certificate_pem())
    await taken_up(len(PROCESSES), before)


async def test_a_mesh_over_tls_changes_its_authority_while_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANEMESH_TLS_RELOAD_SECONDS", "0.1")
    async with secured(tmp_path / "home") as mesh, asyncio.timeout(120):
        client = certs.environment(mesh.folder, certs.CLIENT)
        for variable, path in client.items():
            monkeypatch.setenv(variable, path)
        asked: list[int] = []
        stopping = asyncio.Event()

        async def ask(asking: Mesh) -> None:
            while not stopping.is_set():
                reply = await asking.search(QUERY, lanes=["keyword", "local"], deadline=10.0)
                rows = {row.lane: row for row in reply.ledger}
                assert rows["keyword"].returned
                assert rows["keyword"].reason == rows["local"].reason == ""
                assert not reply.fusion_error
                asked.append(1)

        async with Mesh(mesh.port("gateway")) as asking, asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(ask(asking))
            await rotate(mesh, asked)
            stopping.set()
        assert len(asked) >= 100
        await check_doors(mesh)


async def check_doors(mesh: Secured) -> None:
    """With the certificate of the client a lane says how it is, and nothing else; without one it says nothing."""
    own = Certificates(certs.files(mesh.folder, certs.CLIENT))
    trust = Trust(own, identity("keyword"))
    question = RetrieveRequest(query="q", max_results=1)
    async with open_channel(mesh.port("keyword"), trust=trust) as channel:
        assert (await health_method(channel)(HealthCheckRequest(), timeout=10)).status
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await LaneServiceStub(channel).Retrieve(question, timeout=10)
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    for process in PROCESSES:
        async with grpc.aio.insecure_channel(mesh.port(process)) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await health_method(channel)(HealthCheckRequest(), timeout=10)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
