"""On loopback a process listens as it likes; beyond it, it says what is missing and does not start."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.runtime.errors import StartupError
from services.runtime.listening import host_of, on_loopback
from services.runtime.process import EXIT_STARTUP
from services.runtime.server import Security, Server, ServerSettings
from tests.certified import Office
from tests.runtime.processes import ended, environment


async def ready() -> None:
    return None


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:0", "127.9.9.9:1", "localhost:1", "LocalHost:1", "[::1]:1", "ipv4:127.0.0.1:1", "unix:/run/l.sock"],
)
def test_loopback(address: str) -> None:
    assert on_loopback(address)


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.0:1", "[::]:1", "*:1", ":1", "10.0.0.7:1", "192.168.1.2:1", "[fe80::1]:1", "example.org:1"),
        *("localhost.example.org:1", "127.0.0.1.example.org:1", "dns:///vector:1", "ipv4:127.0.0.1:1,10.0.0.1:1"),
    ],
)
def test_beyond(address: str) -> None:
    assert not on_loopback(address)


def test_hosts() -> None:
    assert host_of("dns:///Gateway.example.org:50051") == "gateway.example.org"
    assert host_of("[::1]:50051") == "::1"


async def test_beyond_loopback_needs_certificates_or_somebodys_word(tmp_path: Path) -> None:
    settings = ServerSettings(listen="0.0.0.0:0")
    with pytest.raises(StartupError, match=r"LANEMESH_LISTEN=0.0.0.0:0 is beyond loopback: set LANEMESH_TLS_CERT"):
        Server(settings, [], ready)
    Server(settings, [], ready, security=Security(Office(tmp_path).certificates("keyword")))
    Server(ServerSettings(listen="0.0.0.0:0", allow_plaintext=True), [], ready)


@pytest.mark.parametrize("module", [("services.runtime", "keyword"), ("fusion_service",), ("gateway",)])
async def test_no_process_listens_beyond_loopback_by_accident(tmp_path: Path, module: tuple[str, ...]) -> None:
    settings = environment(tmp_path, LANEMESH_LISTEN="0.0.0.0:0")
    code, lines = await ended(*module, environment=settings)
    assert code == EXIT_STARTUP
    assert len(lines) == 1
    assert "LANEMESH_LISTEN=0.0.0.0:0 is beyond loopback: set LANEMESH_" in lines[0]


async def test_a_process_with_another_ones_certificate_does_not_start(tmp_path: Path) -> None:
    files = Office(tmp_path / "certs").issue("vector")
    own = {variable: str(path) for variable, path in files.named().items()}
    code, lines = await ended("services.runtime", "keyword", environment=environment(tmp_path, **own))
    assert (code, len(lines)) == (EXIT_STARTUP, 1)
    assert "the certificate is of vector.lanemesh, not of keyword.lanemesh" in lines[0]
