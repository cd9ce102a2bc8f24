"""The supervisor with small stand-in processes: real children, real health checks, real signals."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from services.runtime import dev
from services.runtime.errors import StartupError
from services.runtime.registry import load_table
from services.runtime.supervise import Patience, Program, Supervisor

# Serves health on a port; on SIGTERM it writes its name to a file and ends, or ignores the signal.
SERVER = """
import signal, sys, grpc
from concurrent.futures import ThreadPoolExecutor
from grpc_health.v1 import health, health_pb2_grpc
name, address, ended, stubborn = sys.argv[1:]
server = grpc.server(ThreadPoolExecutor(2))
health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
server.add_insecure_port(address)
def end(*_):
    if stubborn == "no":
        with open(ended, "a") as file:
            file.write(name + "\\n")
        server.stop(None)
signal.signal(signal.SIGTERM, end)
server.start()
server.wait_for_termination()
"""
# Supervises two of them until it is killed, and says when they are up.
PARENT = """
import asyncio, sys
from pathlib import Path
from services.runtime.supervise import Program, Supervisor
code, home, *ports = sys.argv[1:]
def program(port):
    command = (sys.executable, "-c", code, port, f"127.0.0.1:{port}", f"{home}/ended", "no")
    return Program(port, command, "127.0.0.1", int(port), {})
async def main():
    supervisor = Supervisor([[program(port) for port in ports]], Path(home), lambda line: None)
    await supervisor.start()
    print("up", flush=True)
    await supervisor.until_told()
asyncio.run(main())
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(name: str, home: Path, code: str = SERVER, stubborn: str = "no") -> Program:
    port = free_port()
    command = (sys.executable, "-c", code, name, f"127.0.0.1:{port}", str(home / "ended"), stubborn)
    return Program(name, command, "127.0.0.1", port, dict(os.environ))


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


class Reports:
    """Lines of the supervisor; a test can wait for one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._changed = asyncio.Event()

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        self._changed.set()

    async def until(self, part: str) -> str:
        while True:
            self._changed.clear()
            for line in self.lines:
                if part in line:
                    return line
            await self._changed.wait()


async def serve_until_signal() -> bool:
    return True


async def test_all_start_serve_and_stop_with_the_gateway_first(tmp_path):
    reports = Reports()
    stages = [[program("gateway", tmp_path)], [program("kg", tmp_path), program("fusion", tmp_path)]]
    supervisor = Supervisor(stages, tmp_path / "logs", reports)
    pids: list[int] = []

    async def session() -> bool:
        pids.extend(child.pid for child in supervisor.children.values())
        assert all(not gone(pid) for pid in pids)
        os.kill(os.getpid(), signal.SIGTERM)
        return True

    assert await dev.run(supervisor, session) == 0
    assert {line.split()[0] for line in reports.lines if " ready at " in line} == {"gateway", "kg", "fusion"}
    ended = (tmp_path / "ended").read_text().split()
    assert ended[0] == "gateway"
    assert sorted(ended[1:]) == ["fusion", "kg"]
    assert all(gone(pid) for pid in pids)
    assert (tmp_path / "logs" / "kg.log").exists()


async def test_a_session_that_is_done_ends_the_mesh(tmp_path):
    supervisor = Supervisor([[program("gateway", tmp_path)]], tmp_path, Reports())

    async def session() -> bool:
        return False

    assert await dev.run(supervisor, session) == 0
    assert gone(supervisor.children["gateway"].pid)


async def test_a_killed_child_comes_back_and_the_others_do_not_notice(tmp_path):
    reports = Reports()
    supervisor = Supervisor([[program("gateway", tmp_path)], [program("kg", tmp_path)]], tmp_path, reports)
    gateway, kg = supervisor.children.values()

    async def session() -> bool:
        before = (gateway.pid, kg.pid)
        os.kill(kg.pid, signal.SIGKILL)
        assert await reports.until("kg ended") == "kg ended with code -9; it starts again in 0.2 s"
        await kg.ready()
        assert gateway.pid == before[0]
        assert kg.pid != before[1]
        assert not gone(kg.pid)
        return False

    await dev.run(supervisor, session)
    assert gone(kg.pid)


async def test_pauses_between_restarts_grow_to_a_limit(tmp_path):
    reports = Reports()
    patience = Patience(first_delay=0.1, longest_delay=0.3)
    crashing = program("kg", tmp_path, "raise SystemExit(1)")
    supervisor = Supervisor([[crashing]], tmp_path, reports, patience)
    start = asyncio.create_task(supervisor.start())
    for delay in ("0.1", "0.2", "0.3"):
        await reports.until(f"kg ended with code 1; it starts again in {delay} s")
    start.cancel()
    await asyncio.gather(start, return_exceptions=True)
    await supervisor.stop()
    assert gone(supervisor.children["kg"].pid)


async def test_a_taken_port_is_named_and_nothing_starts(tmp_path):
    supervisor = Supervisor([[program("gateway", tmp_path), program("kg", tmp_path)]], tmp_path, Reports())
    port = supervisor.children["gateway"].program.port
    with socket.create_server(("127.0.0.1", port)), pytest.raises(StartupError) as raised:
        await dev.run(supervisor, serve_until_signal)
    assert raised.value.message == f"port {port} (gateway) is taken; choose another with --port-base"
    assert all(child.pid == 0 for child in supervisor.children.values())


async def test_a_child_that_refuses_to_start_ends_the_start_with_its_words(tmp_path):
    reports = Reports()
    refusing = program("web", tmp_path, "import sys; sys.stderr.write('web: no key\\n'); sys.exit(2)")
    supervisor = Supervisor([[program("gateway", tmp_path)], [refusing]], tmp_path, reports)
    with pytest.raises(StartupError, match="web refused to start"):
        await dev.run(supervisor, serve_until_signal)
    assert "  web: web: no key" in reports.lines
    assert all(gone(child.pid) for child in supervisor.children.values())


async def test_who_is_not_ready_in_time_is_named_with_its_last_words(tmp_path):
    reports = Reports()
    silent = program("vector", tmp_path, "import signal; print('loading', flush=True); signal.pause()")
    supervisor = Supervisor([[silent]], tmp_path, reports, Patience(start=3))
    with pytest.raises(StartupError, match="not ready after 3 s: vector"):
        await dev.run(supervisor, serve_until_signal)
    assert "  vector: loading" in reports.lines
    assert gone(supervisor.children["vector"].pid)


async def test_a_stubborn_child_is_killed_when_its_grace_is_over(tmp_path):
    reports = Reports()
    supervisor = Supervisor([[program("kg", tmp_path, stubborn="yes")]], tmp_path, reports, Patience(grace=0.1))
    await supervisor.start()
    await supervisor.stop()
    assert "kg did not end within 0 s and is killed" in reports.lines
    assert gone(supervisor.children["kg"].pid)


async def test_the_second_signal_ends_everything_at_once(tmp_path):
    # The grace is longer than the test may take: only the second signal can end the stubborn child.
    stages = [[program("gateway", tmp_path, stubborn="yes")], [program("kg", tmp_path)]]
    supervisor = Supervisor(stages, tmp_path, Reports(), Patience(grace=3600))

    async def session() -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        await supervisor.until_told()
        os.kill(os.getpid(), signal.SIGINT)
        return True

    assert await dev.run(supervisor, session) == 0
    assert all(gone(child.pid) for child in supervisor.children.values())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the parent-death signal of Linux")
def test_no_child_outlives_a_killed_supervisor(tmp_path):
    ports = [free_port(), free_port()]
    command = [sys.executable, "-c", PARENT, SERVER, str(tmp_path), *map(str, ports)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        connections = [socket.create_connection(("127.0.0.1", port), timeout=30) for port in ports]
        parent.kill()
    for connection in connections:
        with connection:
            # The server's greeting, then the end of the connection when the kernel has ended the process.
            while _received(connection):
                pass


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(4096)
    except ConnectionResetError:
        return b""


async def test_logs_of_the_last_run_are_kept_once(tmp_path):
    (tmp_path / "kg.log").write_text("old")
    supervisor = Supervisor([[program("kg", tmp_path)]], tmp_path, Reports())
    await supervisor.start()
    await supervisor.stop()
    assert (tmp_path / "kg.log.1").read_text() == "old"
    assert "old" not in (tmp_path / "kg.log").read_text()


def test_the_mesh_is_the_lane_table(tmp_path):
    table = load_table().only({"keyword", "local"})
    settings = dev.DevSettings(home=tmp_path, port_base=60000, project_root=tmp_path)
    (gateway,), others = dev.stages(table, settings, {"PATH": "/bin", "LANEMESH_LANES": "old"})
    assert [each.name for each in others] == ["keyword", "local", "fusion"]
    assert gateway.command == (sys.executable, "-m", "gateway")
    assert others[0].command == (sys.executable, "-m", "services.runtime", "keyword")
    assert others[0].port == 60000 + table.lanes["keyword"].port
    assert others[0].environment["LANEMESH_LISTEN"] == others[0].address
    assert gateway.environment["LANEMESH_LANES"] == "keyword,local"
    assert gateway.environment["LANEMESH_HOME"] == str(tmp_path)
    assert gateway.environment["OPENBLAS_NUM_THREADS"] == "1"
    assert gateway.environment["PATH"] == "/bin"


def test_one_home_serves_one_mesh(tmp_path):
    taken = pytest.raises(StartupError, match=f"in use by a mesh .pid {os.getpid()}.")
    with dev.sole_use(tmp_path), taken, dev.sole_use(tmp_path):
        pass
    with dev.sole_use(tmp_path):
        pass


def test_every_process_has_a_port_for_its_figures_when_they_are_wanted() -> None:
    table, settings = load_table(), dev.DevSettings(port_base=51_000)
    programs = [program for stage in dev.stages(table, settings, {}, metrics=True) for program in stage]
    told = {program.name: program.environment["LANEMESH_METRICS_PORT"] for program in programs}
    assert told == {program.name: str(program.port + dev.METRICS_OFFSET) for program in programs}
    assert len(set(told.values())) == len(programs) == 10
    plain = [program for stage in dev.stages(table, settings, {}) for program in stage]
    assert not any("LANEMESH_METRICS_PORT" in program.environment for program in plain)
