"""`lanemesh up --envoy`: a whole mesh of processes, asked through Envoy and stopped in order."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from services.runtime import envoy
from services.runtime.errors import StartupError
from tests.envoy.running import free_base

ROOT = Path(__file__).parents[2]
# As far as the block of Envoy reaches above the port base.
PORTS = 60


@pytest.mark.parametrize("more", [[], ["--tls"]])
async def test_a_question_goes_through_envoy_in_and_out(tmp_path, more):
    try:
        envoy.envoy()
        envoy.helm()
    except StartupError as error:
        pytest.skip(error.message)
    base = free_base(PORTS)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "README.md").write_text("# Checkout\n\nCheckout reserves stock for ten minutes.\n")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LANEMESH_", "OTEL_"))}
    words = [
        "up",
        "--envoy",
        *more,
        "--lanes",
        "local",
        "--port-base",
        str(base),
        "--project-root",
        str(tmp_path / "project"),
    ]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "client.main", *words, "--ask", "How long does checkout reserve stock here?", "--once"),
        cwd=ROOT,
        env=inherited | {"LANEMESH_HOME": str(tmp_path / "home")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(120):
            said = (await process.communicate())[0].decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, said
    assert f"The mesh is up: 4 processes, envoy at 127.0.0.1:{base}." in said
    assert "Checkout reserves stock for ten minutes." in said
    lines = (tmp_path / "home" / "logs" / "envoy.log").read_text().splitlines()
    (came,) = [line for line in map(json.loads, (line for line in lines if '"log":"access"' in line)) if asked(line)]
    assert came["grpc_status"] == "OK"
    assert came["upstream"] == f"127.0.0.1:{base + 30}"
    assert came["trace_id"] in said


def asked(line: dict[str, str]) -> bool:
    """Whether a line of the access log is of the question, at the front."""
    return line["direction"] == "ingress" and line["path"].endswith("/Search")
