"""`lanemesh up` with a stand-in mesh: one process that is gateway enough to be asked and fed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from client import up
from services.runtime import dev, jaeger
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

    def stages(table, settings, environment, *, metrics=False):
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
from services.runtime import dev, jaeger
from services.runtime.supervise import Program
address = "127.0.0.1:{(port := free_port())}"
program = Program("gateway", (sys.executable, "-c", {GATEWAY!r}, address), "127.0.0.1", {port}, {{}})
dev.stages = lambda *_, **__: [[program]]
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


JAEGER = """#!{python}
import os, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(os.environ["JAEGER_QUERY_PORT"])), Handler).serve_forever()
"""


@pytest.fixture
def jaeger_binary(tmp_path, monkeypatch):
    """Where the binary is sought; a stand-in is there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = jaeger.binary({"XDG_CACHE_HOME": str(tmp_path)})
    path.parent.mkdir(parents=True)
    path.write_text(JAEGER.format(python=sys.executable))
    path.chmod(0o755)
    return path


def base_below_two_free_ports() -> int:
    """A port base whose Jaeger finds both of its ports free."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            with suppress(OSError):
                second.bind(("127.0.0.1", port + 1))
                return port - 20


def test_jaeger_stands_beside_the_mesh_and_gets_every_span(stand_in, run, jaeger_binary, monkeypatch):
    seen: dict[str, str] = {}
    stages = dev.stages

    def watched(table, settings, environment, **options):
        seen.update(environment)
        return stages(table, settings, environment, **options)

    monkeypatch.setattr(dev, "stages", watched)
    base = base_below_two_free_ports()
    outcome = run("up", "--jaeger", "--once", "--port-base", str(base))
    assert (outcome.code, outcome.err) == (0, "")
    url = f"http://127.0.0.1:{base + 21}"
    assert f"jaeger     ready at 127.0.0.1:{base + 21}" in outcome.out
    assert f"traces  LANEMESH_JAEGER_URL={url}" in outcome.out
    assert "2 processes" in outcome.out
    assert seen["LANEMESH_JAEGER_URL"] == url
    assert seen["OTEL_EXPORTER_OTLP_ENDPOINT"] == f"http://127.0.0.1:{base + 20}"
    assert seen["LANEMESH_TRACE_SAMPLE_RATE"] == "1"


def test_a_rate_of_ones_own_stands_beside_jaeger(jaeger_binary):
    environment = {"LANEMESH_TRACE_SAMPLE_RATE": "0.5", "XDG_CACHE_HOME": str(jaeger_binary.parents[2])}
    up._jaeger(dev.DevSettings(port_base=23000), environment)
    assert environment["LANEMESH_TRACE_SAMPLE_RATE"] == "0.5"


def test_without_jaeger_the_target_that_builds_it_is_named(stand_in, run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    outcome = run("up", "--jaeger", "--once")
    assert outcome.code == 1
    assert outcome.err.endswith("`make jaeger-build` does it, once\n")
    assert "ready at" not in outcome.out


def test_figures_need_ports_above_the_mesh(stand_in, run):
    outcome = run("up", "--metrics", "--port-base", "65500")
    assert outcome.code == 2
    assert "port_base: 65500 leaves no ports for figures" in outcome.err
