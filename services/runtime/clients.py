"""Calls to other processes: channels that live as long as this one, and a deadline that is kept on this side too."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from services.runtime import telemetry
from services.runtime.certificates import Certificates, Material, identity
from services.runtime.deadline import Deadline, wire_margin
from services.runtime.errors import BadReply, DeadlinePassed, from_status
from services.runtime.registry import Table
from services.runtime.renewal import RenewedChannel
from services.runtime.replicas import Replicas, several
from services.runtime.secure import channel_credentials
from services.runtime.settings import load, setting
from services.runtime.trace import Metadata

Request = TypeVar("Request")
Response = TypeVar("Response")

PORT_BASE = 50051

_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 3,
                "initialBackoff": "0.02s",
                "maxBackoff": "0.2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ],
    # In an outage retries stop at a tenth of the calls.
    "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
}
# Where a name stands for several replicas, each is watched, so that a draining one gets no new calls. One process at a
# fixed address has nobody to give its calls to, and watching costs every call a few hundredths of its time.
_REPLICATED = {"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}}


@dataclass(frozen=True)
class PeerSettings:
    """Where the other processes are."""

    # {name} and {port} are filled in for each process.
    address: str = setting("LANEMESH_PEER_ADDRESS", "127.0.0.1:{port}")
    port_base: int = setting("LANEMESH_PORT_BASE", PORT_BASE, low=1, high=65_000)
    max_reply_bytes: int = setting("LANEMESH_MAX_REPLY_BYTES", 16 * 1024 * 1024, low=1024, high=1 << 30)
    # Off where something on loopback encrypts for this process.
    tls: bool = setting("LANEMESH_PEER_TLS", True)

    def address_of(self, name: str, offset: int) -> str:
        """The address of a process, by its name and its port offset in the table."""
        return self.address.format(name=name, port=self.port_base + offset)


@dataclass(frozen=True, slots=True)
class Trust:
    """How a channel proves who it is, and the name that whoever answers must prove."""

    certificates: Certificates
    name: str


def default_listen(environment: Mapping[str, str], offset: int) -> str:
    """Where a process listens when it is not told: on loopback, at its offset from the port base."""
    return f"127.0.0.1:{load(PeerSettings, environment).port_base + offset}"


def open_channel(
    address: str,
    max_reply_bytes: int = 16 * 1024 * 1024,
    *,
    watching: bool | None = None,
    trust: Trust | None = None,
) -> grpc.aio.Channel:
    """A channel that finds a restarted process again within half a second; unless told, it watches only replicas."""
    config = _SERVICE_CONFIG | (_REPLICATED if (several(address) if watching is None else watching) else {})
    options: list[tuple[str, Any]] = [
        ("grpc.service_config", json.dumps(config)),
        ("grpc.enable_retries", 1),
        ("grpc.initial_reconnect_backoff_ms", 50),
        # In spite of its name this is the time-out of one connection attempt: a process that hangs must run into the
        # caller's deadline, not look as if it were gone.
        ("grpc.min_reconnect_backoff_ms", 5_000),
        ("grpc.max_reconnect_backoff_ms", 500),
        ("grpc.max_receive_message_length", max_reply_bytes),
        ("grpc.max_send_message_length", max_reply_bytes),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        # A proxy of the environment has no business between the processes of a mesh.
        ("grpc.enable_http_proxy", 0),
        # Local subchannel pooling keeps one process's back-off from another channel to the same address.
        ("grpc.use_local_subchannel_pool", 1),
    ]
    return channel_of(address, options, trust)


def channel_of(address: str, options: Sequence[tuple[str, Any]], trust: Trust | None) -> grpc.aio.Channel:
    """A channel in plain text, or one that keeps up with its certificates."""
    if trust is None:
        return grpc.aio.insecure_channel(address, options=options)
    # The name that is checked is the process's, wherever it was found.
    checked = [*options, ("grpc.ssl_target_name_override", trust.name)]

    def connect(material: Material) -> grpc.aio.Channel:
        return grpc.aio.secure_channel(address, channel_credentials(material), options=checked)

    return RenewedChannel(connect, trust.certificates)


HealthMethod: TypeAlias = "grpc.aio.UnaryUnaryMultiCallable[HealthCheckRequest, HealthCheckResponse]"


def health_method(channel: grpc.aio.Channel) -> HealthMethod:
    """The standard health check over a channel."""
    return channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=HealthCheckRequest.SerializeToString,
        response_deserializer=HealthCheckResponse.FromString,
    )


class Peers:
    """The channels of one process, by the name of the process they lead to."""

    def __init__(
        self, addresses: Mapping[str, str], max_reply_bytes: int, certificates: Certificates | None = None
    ) -> None:
        self.addresses = dict(addresses)
        self._max_reply_bytes = max_reply_bytes
        self._certificates = certificates
        self._channels = {
            name: open_channel(address, max_reply_bytes, trust=self._trust(name)) for name, address in addresses.items()
        }
        self._probes: dict[str, grpc.aio.Channel] = {}
        self._replicas: dict[str, Replicas] = {}
        for channel in self._channels.values():
            # Connects now, so that no query pays for it.
            channel.get_state(try_to_connect=True)

    @classmethod
    def of_table(cls, table: Table, settings: PeerSettings, certificates: Certificates | None = None) -> Peers:
        """Channels to every enabled lane and to the fusion service."""
        ports = {lane.name: lane.port for lane in table.enabled()} | {"fusion": table.fusion.port}
        addresses = {name: settings.address_of(name, port) for name, port in ports.items()}
        return cls(addresses, settings.max_reply_bytes, certificates if settings.tls else None)

    def channel(self, name: str) -> grpc.aio.Channel:
        """The channel to a process."""
        return self._channels[name]

    def replicas(self, name: str, look_every: float) -> Replicas:
        """The replicas behind a name, looked up anew every so many seconds."""
        if name not in self._replicas:
            replicas = Replicas(self.addresses[name], self._channels[name], partial(self._open_replica, name))
            replicas.watch(look_every)
            self._replicas[name] = replicas
        return self._replicas[name]

    def _open_replica(self, name: str, address: str) -> grpc.aio.Channel:
        return open_channel(address, self._max_reply_bytes, watching=True, trust=self._trust(name))

    def _trust(self, name: str) -> Trust | None:
        return Trust(self._certificates, identity(name)) if self._certificates else None

    def probe(self, name: str) -> grpc.aio.Channel:
        """A channel to ask a process how it is, even when it is not ready."""
        if name not in self._probes:
            self._probes[name] = open_channel(self.addresses[name], watching=False, trust=self._trust(name))
        return self._probes[name]

    async def close(self) -> None:
        """Closes every channel."""
        for replicas in self._replicas.values():
            await replicas.close()
        for channel in (*self._channels.values(), *self._probes.values()):
            await channel.close()


class Flight(Generic[Response]):
    """A unary call under way: it began when this was made, and ends by its deadline whatever the network does.

    Several are begun one after another and then awaited one after another; a task and a time-out for each would cost
    more than the calls' own bookkeeping. Whoever does not await one to its end must cancel it.
    """

    def __init__(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        deadline: Deadline,
        metadata: Metadata | None = None,
    ) -> None:
        self.ended = 0.0
        self._on_end: Callable[[], None] | None = None
        self._late = False
        self._call: grpc.aio.UnaryUnaryCall[Request, Response] | None = None
        try:
            left = deadline.require()
            carried = telemetry.outgoing() if metadata is None else metadata
            self._call = method(request, timeout=wire_time_out(left), metadata=carried)
            self._guard = asyncio.get_running_loop().call_later(left, self._give_up)
            self._call.add_done_callback(self._end)
        except Exception as error:  # noqa: BLE001  what cannot even begin fails as any other, when it is awaited
            self._refused = error

    async def reply(self) -> Response:
        """The reply, or what went wrong as one of our errors."""
        try:
            return await self._landed()
        finally:
            self.ended = self.ended or time.monotonic()

    def when_ended(self, told: Callable[[], None]) -> None:
        """Has `told` called once, as soon as awaiting the reply would not have to wait."""
        if self._call is None or self.ended:
            told()
        else:
            self._on_end = told

    def cancel(self) -> None:
        """Gives the call up, if it is still under way."""
        if self._call is not None:
            self._call.cancel()
        self.ended = self.ended or time.monotonic()

    async def _landed(self) -> Response:
        if self._call is None:
            raise self._refused
        try:
            reply = await self._call
        except grpc.aio.AioRpcError as error:
            raise from_status(error) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._late or (task and task.cancelling()):
                raise
            raise DeadlinePassed("no answer before the deadline") from None
        # grpc.aio delivers a reply that does not parse as None.
        if reply is None:
            raise BadReply("the reply does not parse")
        return reply

    def _give_up(self) -> None:
        self._late = True
        if self._call is not None:
            self._call.cancel()

    def _end(self, _call: object) -> None:
        self.ended = time.monotonic()
        self._guard.cancel()
        # Let go of first: what is told holds this flight, and a ring of the two would keep its reply until collected.
        told, self._on_end = self._on_end, None
        if told is not None:
            told()


async def call(
    method: grpc.aio.UnaryUnaryMultiCallable[Request, Response], request: Request, deadline: Deadline
) -> Response:
    """One unary call that ends by the deadline whatever the network does, with errors as ours."""
    return await Flight(method, request, deadline).reply()


def wire_time_out(left: float) -> float:
    """The time-out to send so that, rounded up on the wire, it still ends before `left`."""
    return max(left - wire_margin(left), 0.0005)
