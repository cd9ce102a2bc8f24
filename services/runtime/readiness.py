"""How to know from outside that a program serves: asked again until it says so, for another process has no event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import grpc
from grpc_health.v1 import health_pb2

from services.runtime.clients import HealthMethod, Trust, channel_of, health_method

# Returns when whoever listens at the address serves; whoever calls it limits the time.
Ready = Callable[[str], Awaitable[None]]

PAUSE_SECONDS = 0.02
ANSWER_SECONDS = 1.0

_PROBE = [
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 100),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
]


async def serves_health(address: str, trust: Trust | None = None) -> None:
    """Waits until grpc.health.v1 says SERVING."""
    async with channel_of(address, _PROBE, trust) as channel:
        check = health_method(channel)
        while not await _serving(check):  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(PAUSE_SECONDS)


def answers_http(path: str) -> Ready:
    """Waits until a GET of that path is answered with 200."""

    async def ready(address: str) -> None:
        while not await _answers(address, path):  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(PAUSE_SECONDS)

    return ready


async def _serving(check: HealthMethod) -> bool:
    try:
        reply = await check(health_pb2.HealthCheckRequest(), timeout=ANSWER_SECONDS)
    except grpc.aio.AioRpcError:
        return False
    return reply is not None and reply.status == health_pb2.HealthCheckResponse.SERVING


async def _answers(address: str, path: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(host, int(port))
            try:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
                status = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
    return status.split()[1:2] == [b"200"]
