"""A process starts whole or says in one line why not."""

from __future__ import annotations

import signal
import socket
from dataclasses import asdict
from pathlib import Path

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from lanemesh.v1.lane_pb2 import LANE_STATUS_EMPTY, RetrieveRequest
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime.__main__ import main
from services.runtime.clients import health_method
from services.runtime.errors import StartupError
from services.runtime.process import EXIT_STARTUP, ProcessSettings, read_table
from services.runtime.settings import load
from tests.runtime.processes import ROOT, ended, environment, running

RUNTIME = "services.runtime"


@pytest.mark.parametrize("lane", ["keyword", "local"])
async def test_a_lane_starts_answers_and_ends(tmp_path: Path, lane: str) -> None:
    async with running(RUNTIME, lane, environment=environment(tmp_path)) as process:
        async with grpc.aio.insecure_channel(process.address) as channel:
            ready = await health_method(channel)(HealthCheckRequest(), timeout=30)
            assert ready.status == HealthCheckResponse.SERVING
            question = RetrieveRequest(query="zyzzyva", max_results=1)
            reply = await LaneServiceStub(channel).Retrieve(question, timeout=30)
            assert (reply.lane, reply.status) == (lane, LANE_STATUS_EMPTY)
        process.process.send_signal(signal.SIGTERM)
        assert (await process.logged("stopped"))["process"] == lane
        assert await process.process.wait() == 0


@pytest.mark.parametrize(
    ("lane", "settings", "line"),
    [
        ("local", {"LANEMESH_GRACE_SECONDS": "nan"}, "local: LANEMESH_GRACE_SECONDS='nan': expected 0.0 to 600.0"),
        ("gossip", {}, "gossip: unknown lane 'gossip'; the table has "),
    ],
)
async def test_a_half_configured_process_refuses_in_one_line(
    tmp_path: Path, lane: str, settings: dict[str, str], line: str
) -> None:
    code, lines = await ended(RUNTIME, lane, environment=environment(tmp_path, **settings))
    assert code == EXIT_STARTUP
    assert len(lines) == 1
    assert lines[0].startswith(line)


@pytest.mark.parametrize(
    "variable", ["LANEMESH_LISTEN", "LANEMESH_METRICS_PORT", "LANEMESH_METRICS_LISTEN", "LANEMESH_HEALTH_LISTEN"]
)
async def test_a_taken_port_is_named_without_a_traceback(tmp_path: Path, variable: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        value = f"127.0.0.1:{port}" if variable.endswith("LISTEN") else str(port)
        code, lines = await ended(RUNTIME, "keyword", environment=environment(tmp_path, **{variable: value}))
    assert code == EXIT_STARTUP
    assert lines[-1].startswith(f"keyword: {variable}={value}: ")
    assert "Traceback" not in "\n".join(lines)


def test_a_process_without_a_lane_says_how_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["services.runtime"])
    with pytest.raises(SystemExit, match=r"usage: python -m services\.runtime LANE"):
        main()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("LANEMESH_LOG_LEVEL", "chatty"), ("LANEMESH_METRICS_PORT", "65536"), ("LANEMESH_METRICS_PORT", "http")],
)
def test_what_every_process_reads_is_refused_by_name(variable: str, value: str) -> None:
    with pytest.raises(StartupError, match=f"{variable}='{value}': expected"):
        load(ProcessSettings, {variable: value})


def test_the_table_is_narrowed_to_the_lanes_of_the_settings() -> None:
    assert [row.name for row in read_table(ProcessSettings(lanes=("local", "web"))).enabled()] == ["web", "local"]
    chart = ProcessSettings(config=ROOT / "helm" / "values.yaml")
    assert asdict(read_table(ProcessSettings())) == asdict(read_table(chart))


def test_a_table_that_does_not_fit_is_refused() -> None:
    with pytest.raises(StartupError, match="unknown lane gossip"):
        read_table(ProcessSettings(lanes=("gossip",)))
    with pytest.raises(StartupError, match=r"nowhere\.yaml cannot be read"):
        read_table(ProcessSettings(config=Path("/nowhere.yaml")))
