"""The hook asks Envoy over its socket and waits in any case."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from gateway.drain import PATH, main


@contextmanager
def admin(path: Path, status: int) -> Iterator[list[str]]:
    """Something that answers on a Unix socket as Envoy's admin interface does."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def address_string(self) -> str:
            return "unix"

        def log_message(self, *_parts: object) -> None:
            return

    with socketserver.UnixStreamServer(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_envoy_is_asked_once_and_callers_get_their_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], status: int, code: int
) -> None:
    slept: list[float] = []
    with admin(tmp_path / "admin.sock", status) as asked:
        assert main([str(tmp_path / "admin.sock"), "6"], slept.append) == code
    assert asked == [PATH]
    assert slept == [6.0]
    assert ("answered 503" in capsys.readouterr().err) == (status == 503)


def test_without_envoy_the_time_is_given_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slept: list[float] = []
    assert main([str(tmp_path / "nobody.sock"), "2.5"], slept.append) == 1
    assert slept == [2.5]
    assert "drain: " in capsys.readouterr().err
