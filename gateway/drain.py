"""Has Envoy send its callers elsewhere before the gateway drains: `python -m gateway.drain SOCKET SECONDS`.

Envoy tells each caller at its next answer that the connection is to be left, and serves on meanwhile.
"""

from __future__ import annotations

import http.client
import socket
import sys
import time
from collections.abc import Callable, Sequence

ASK_SECONDS = 2.0
# Listeners stay open for the whole drain; Envoy itself goes when the pod does.
PATH = "/drain_listeners?graceful&skip_exit"


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("envoy", timeout=ASK_SECONDS)
        self._path = path

    def connect(self) -> None:
        """Opens the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def ask(path: str) -> None:
    """Begins the drain; OSError when Envoy does not do it."""
    connection = _Connection(path)
    try:
        connection.request("POST", PATH)
        reply = connection.getresponse()
    except http.client.HTTPException as error:
        raise OSError(f"{path}: no answer of Envoy: {error}") from error
    finally:
        connection.close()
    if reply.status != http.client.OK:
        raise OSError(f"{path}: Envoy answered {reply.status}")


def main(arguments: Sequence[str], sleep: Callable[[float], None] = time.sleep) -> int:
    """Asks, and leaves callers the time to go. They get it even when Envoy cannot be asked."""
    path, seconds = arguments
    code = 0
    try:
        ask(path)
    except OSError as error:
        sys.stderr.write(f"drain: {error}\n")
        code = 1
    sleep(float(seconds))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
