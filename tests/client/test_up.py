"""`lanemesh up` with a stand-in mesh: one process that is gateway enough to be asked and fed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from client import up
from services.runtime import dev
from services.runtime.supervise import Program

GATEWAY = """
import signal, sys, grpc
from concurrent.futures import ThreadPoolExecutor
from grpc_health.v1 import health, health_pb2_grpc
from lanemesh.v1 import search_pb2, search_pb2_grpc
class Servicer(search_pb2_grpc.SearchServiceServicer):
    def Search(self, request, context):
        return search_pb2.SearchResponse(answer="You asked: " + request.query)
    def Ingest(self, request_iterator, context):
        count = len(list(request_iterator))
        return search_pb2.IngestResponse(received=count, acknowledged=count - 305, unkept=305)
server = grpc.server(ThreadPoolExecutor(2))
health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
search_pb2_grpc.add_SearchServiceServicer_to_server(Servicer(), server)
server.add_insecure_port(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: server.stop(None))
server.start()
server.wait_for_termination()
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("LANEMESH_HOME", str(tmp_path / "home"))
    address = f"127.0.0.1:{free_port()}"

    def stages(table, settings, environment):
        command = (sys.executable, "-c", GATEWAY, address)
        return [[Program("gateway", command, "127.0.0.1", int(address.split(":")[1]), dict(environment))]]

    monkeypatch.setattr(dev, "stages", stages)
    return address


def test_a_simulator_is_part_of_a_checkout_and_said_aloud(stand_in, run, monkeypatch, tmp_path):
    outcome = run("up", "--simulate-providers", "--once")
    assert outcome.code == 0
    assert "outside providers are simulated" in outcome.out
    monkeypatch.setattr(up, "SIMULATOR", tmp_path / "nowhere")
    outcome = run("up", "--simulate-providers", "--once")
    assert outcome.code == 2
    assert "simulate_providers: the provider simulator is part of a checkout" in outcome.err


def test_up_starts_feeds_asks_and_stops(stand_in, run):
    outcome = run("up", "--demo", "--ask", "Why [bold]UUIDs[/bold]?", "--once")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"gateway    ready at {stand_in}" in outcome.out
    assert f"LANEMESH_GATEWAY={stand_in} lanemesh ask" in outcome.out
    assert "records stored; 305 are of a kind no running lane keeps" in outcome.out
    assert "You asked: Why [bold]UUIDs[/bold]?" in outcome.out
    assert "serving until" not in outcome.out


def test_a_sample_question_that_fails_is_told(stand_in, run, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "GATEWAY", GATEWAY.replace("def Search", "def Searched"))
    outcome = run("up", "--ask", "q", "--once")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("lanemesh: ")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["--lanes", "keyword,nonsense"], "lanes"),
        (["--port-base", "65530"], "port_base"),
        (["--port-base", "0"], "port_base"),
        (["--project-root", "/nonexistent"], "project_root"),
    ],
)
def test_what_cannot_be_started_is_exit_2(stand_in, run, arguments, field):
    outcome = run("up", "--once", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"lanemesh: {field}: ")


def test_without_the_demo_corpus_up_says_so(stand_in, run, monkeypatch):
    monkeypatch.setattr(up, "CORPUS", Path("/nonexistent"))
    outcome = run("up", "--demo", "--once")
    assert outcome.code == 2
    assert outcome.err.startswith("lanemesh: demo: ")


def test_a_taken_port_is_one_line(tmp_path, run, monkeypatch):
    monkeypatch.setenv("LANEMESH_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        base = port - up.load_table().gateway_port
        outcome = run("up", "--once", "--lanes", "keyword", "--port-base", str(base))
    assert outcome.code == 1
    assert f"port {port} (gateway)" in outcome.err
    assert outcome.err.endswith("taken; choose another with --port-base\n")


def test_ctrl_c_ends_the_command_with_0_and_no_traceback(tmp_path):
    """The real command in a process of its own, with the stand-in for its stages."""
    code = f"""
import sys
from client.main import main
from services.runtime import dev
from services.runtime.supervise import Program
address = "127.0.0.1:{(port := free_port())}"
program = Program("gateway", (sys.executable, "-c", {GATEWAY!r}, address), "127.0.0.1", {port}, {{}})
dev.stages = lambda *_: [[program]]
sys.exit(main(["up"]))
"""
    environment = dict(os.environ) | {"LANEMESH_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while "serving until Ctrl-C" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == ""
    assert process.returncode == 0
