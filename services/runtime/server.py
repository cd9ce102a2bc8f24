"""A grpc.aio server that starts in order, drains on the first signal and exits at once on the second."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from services.runtime.accept import Acceptors, TurnAway
from services.runtime.certificates import Certificates, of_process
from services.runtime.errors import StartupError
from services.runtime.health import Check, Health
from services.runtime.listening import host_of, permit
from services.runtime.secure import Access, server_credentials
from services.runtime.served import Telemetry
from services.runtime.settings import setting

log = logging.getLogger(__name__)

_ANYWHERE = ("", "0.0.0.0", "::", "*")  # noqa: S104  compared with, not bound
# With certificates a connection lasts no longer than this, so that none outlives the certificate it began with by more.
_LONGEST_CONNECTION_MS = 3_600_000


@dataclass(frozen=True)
class ServerSettings:
    """How a process listens and stops."""

    listen: str = setting("LANEMESH_LISTEN", "127.0.0.1:0")
    # Of a busy method as many again: those that are taken beside grpc.aio's own have a count of their own.
    max_concurrent: int = setting("LANEMESH_MAX_CONCURRENT", 256, low=1, high=100_000)
    # Calls that gRPC holds until the process takes them; beyond it drops more and more, at twice as many all.
    max_pending: int = setting("LANEMESH_MAX_PENDING", 128, low=1, high=100_000)
    max_message_bytes: int = setting("LANEMESH_MAX_MESSAGE_BYTES", 16 * 1024 * 1024, low=1024, high=1 << 30)
    grace_seconds: float = setting("LANEMESH_GRACE_SECONDS", 15.0, low=0.0, high=600.0)
    # Time between "not ready" and refusing new calls: peers that watch need a moment, balancers that poll need more.
    lame_duck_seconds: float = setting("LANEMESH_LAME_DUCK_SECONDS", 0.1, low=0.0, high=60.0)
    check_seconds: float = setting("LANEMESH_CHECK_SECONDS", 1.0, low=0.01, high=60.0)
    # A second listener that serves health and nothing else, for probes that have no certificate.
    health_listen: str = setting("LANEMESH_HEALTH_LISTEN", "")
    # Something trusted encrypts and authenticates in this process's place.
    allow_plaintext: bool = setting("LANEMESH_ALLOW_PLAINTEXT", False)


@dataclass(frozen=True)
class Security:
    """What a server proves, and whom it serves."""

    certificates: Certificates
    # The processes that may call; empty: whoever has a certificate of the authority.
    accepted: tuple[str, ...] = ()
    # Whether callers must have one.
    client_certificates: bool = True


@dataclass(frozen=True)
class Service:
    """One gRPC service of a process: its full name and what adds it to a server."""

    name: str
    register: Callable[[grpc.aio.Server], None]
    # The methods that may be called by many at once.
    busy: tuple[str, ...] = ()


class Server:
    """The server of one process."""

    def __init__(
        self,
        settings: ServerSettings,
        services: Sequence[Service],
        check: Check,
        interceptors: Sequence[grpc.aio.ServerInterceptor] = (),
        security: Security | None = None,
        turn_away: TurnAway | None = None,
    ) -> None:
        permit("LANEMESH_LISTEN", settings.listen, secured=bool(security), plaintext=settings.allow_plaintext)
        names = [service.name for service in services]
        self._settings = settings
        self._security = security
        self._probed: grpc.aio.Server | None = None
        self.health_port = 0
        self._port = 0
        self.health = Health(check, names, time_out=settings.check_seconds, time_to_live=settings.check_seconds)
        asked = (*interceptors, Telemetry(), *_access(security))
        self._server = grpc.aio.server(
            interceptors=asked,
            options=[*_options(settings), *_ageing(security)],
            maximum_concurrent_rpcs=settings.max_concurrent,
        )
        handlers = _Handlers(self._server)
        for service in services:
            service.register(handlers)  # type: ignore[arg-type]
        busy = {f"/{service.name}/{method}" for service in services for method in service.busy}
        known = {method: handler for method, handler in handlers.by_method.items() if method in busy}
        self._acceptors = Acceptors(self._server, known, asked, settings.max_concurrent, turn_away)
        health_pb2_grpc.add_HealthServicer_to_server(self.health, self._server)
        reflection.enable_server_reflection([*names, "grpc.health.v1.Health", reflection.SERVICE_NAME], self._server)

    async def start(self) -> int:
        """Listens; returns the port."""
        port = _bind(self._server, "LANEMESH_LISTEN", self._settings.listen, self._security)
        if self._settings.health_listen:
            self._probed = grpc.aio.server(options=_options(self._settings))
            health_pb2_grpc.add_HealthServicer_to_server(self.health, self._probed)
            self.health_port = _bind(self._probed, "LANEMESH_HEALTH_LISTEN", self._settings.health_listen)
        await self._server.start()
        self._acceptors.start()
        if self._probed is not None:
            await self._probed.start()
        if self._security is not None:
            self._security.certificates.start()
        self._port = port
        return port

    def own_address(self) -> str:
        """Where this process reaches itself; empty until it listens."""
        listen = self._settings.listen
        if not self._port or listen.startswith("unix") or ":" not in listen:
            return listen if self._port else ""
        host = "127.0.0.1" if host_of(listen) in _ANYWHERE else listen.rpartition(":")[0]
        return f"{host}:{self._port}"

    async def stop(self) -> None:
        """Not ready → no new calls → finish what was accepted, within the grace period."""
        self.health.drain()
        await asyncio.sleep(self._settings.lame_duck_seconds)
        await self._server.stop(self._settings.grace_seconds)
        await self._acceptors.stop()
        # The last to go, so that probes hear that the process drains rather than nothing.
        if self._probed is not None:
            await self._probed.stop(None)
        if self._security is not None:
            await self._security.certificates.stop()


class _Handlers:
    """What services register with: passes on to the server and keeps what was registered."""

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server
        self.by_method: dict[str, Any] = {}

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        self._server.add_generic_rpc_handlers(handlers)

    def add_registered_method_handlers(self, service: str, handlers: dict[str, Any]) -> None:
        self._server.add_registered_method_handlers(service, handlers)
        self.by_method |= {f"/{service}/{method}": handler for method, handler in handlers.items()}


async def serve(server: Server, close: Callable[[], Awaitable[None]]) -> None:
    """Serves until a signal asks to stop, then drains and closes."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stopping.is_set():
            os._exit(130)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    try:
        port = await server.start()
        log.info("listening", extra={"port": port})
        await stopping.wait()
        log.info("draining")
        await server.stop()
    finally:
        await close()
    log.info("stopped")


def secured(process: str, environment: Mapping[str, str]) -> Security | None:
    """The security of a process that only the gateway calls; None without certificates."""
    certificates = of_process(process, environment)
    return Security(certificates, accepted=("gateway",)) if certificates else None


def _bind(server: grpc.aio.Server, variable: str, address: str, security: Security | None = None) -> int:
    try:
        if security is None:
            return server.add_insecure_port(address)
        credentials = server_credentials(security.certificates, client_certificates=security.client_certificates)
        return server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise StartupError(f"{variable}={address}: the address cannot be bound") from error


def _access(security: Security | None) -> list[grpc.aio.ServerInterceptor]:
    return [Access(security.accepted)] if security is not None and security.accepted else []


def _ageing(security: Security | None) -> list[tuple[str, int]]:
    return [("grpc.max_connection_age_ms", _LONGEST_CONNECTION_MS)] if security is not None else []


def _options(settings: ServerSettings) -> list[tuple[str, int]]:
    return [
        ("grpc.server.max_pending_requests", settings.max_pending),
        ("grpc.server.max_pending_requests_hard_limit", 2 * settings.max_pending),
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        # A second process on the same port must fail, not share it.
        ("grpc.so_reuseport", 0),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        # Or a client that waits for its records to be stored would be cut off for asking whether this end is alive.
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ]
