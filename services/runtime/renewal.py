"""Channels that outlive their certificates: a new connection is made beside the old one, which finishes its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Self

import grpc

from services.runtime.certificates import Certificates, Material

# How long calls may go on over a channel that has been replaced: as long as the longest call, an ingestion.
DRAIN_SECONDS = 600.0

Open = Callable[[Material], grpc.aio.Channel]


class RenewedChannel(grpc.aio.Channel):
    """A channel to its user; inside, one channel after another. gRPC cannot change the certificate of one it has."""

    def __init__(self, open_: Open, certificates: Certificates) -> None:
        self._open = open_
        self._material = certificates.material
        self._channel = open_(self._material)
        self._replacing: asyncio.Task[None] | None = None
        self._retired: dict[grpc.aio.Channel, asyncio.Task[None]] = {}
        self._closed = False
        certificates.follow(self)

    @property
    def now(self) -> grpc.aio.Channel:
        """The channel that new calls use."""
        return self._channel

    def renew(self, material: Material) -> None:
        """Connects with these certificates; calls change over once that has succeeded."""
        if material is self._material or self._closed:
            return
        self._material = material
        if self._replacing is not None:
            self._replacing.cancel()
        self._replacing = asyncio.get_running_loop().create_task(self._replace(self._open(material)))

    async def renewed(self) -> None:
        """Waits until a change that is under way is through."""
        if self._replacing is not None:
            await self._replacing

    async def _replace(self, fresh: grpc.aio.Channel) -> None:
        try:
            await fresh.channel_ready()
        except asyncio.CancelledError:
            await fresh.close()
            raise
        old, self._channel = self._channel, fresh
        self._retired[old] = task = asyncio.get_running_loop().create_task(old.close(DRAIN_SECONDS))
        task.add_done_callback(lambda _task: self._retired.pop(old, None))

    async def close(self, grace: float | None = None) -> None:
        """Closes it, and whatever it has been before."""
        self._closed = True
        if self._replacing is not None:
            self._replacing.cancel()
            await asyncio.wait([self._replacing])
        retired = dict(self._retired)
        for task in retired.values():
            task.cancel()
        for channel in (self._channel, *retired):
            await channel.close(grace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """The state of the present connection."""
        return self._channel.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Waits until the present connection is in another state."""
        await self._channel.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        """Waits until the present connection is up."""
        await self._channel.channel_ready()

    def unary_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        """As of any channel."""
        return _Method(self, "unary_unary", method, arguments, options)

    def unary_stream(self, method: str, *arguments: Any, **options: Any) -> Any:
        """As of any channel."""
        return _Method(self, "unary_stream", method, arguments, options)

    def stream_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        """As of any channel."""
        return _Method(self, "stream_unary", method, arguments, options)

    def stream_stream(self, method: str, *arguments: Any, **options: Any) -> Any:
        """As of any channel."""
        return _Method(self, "stream_stream", method, arguments, options)


class _Method:
    """A method of whatever channel is the present one when it is called."""

    __slots__ = ("_arguments", "_begin", "_channel", "_kind", "_of", "_options")

    def __init__(
        self, channel: RenewedChannel, kind: str, method: str, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        self._channel = channel
        self._kind = kind
        self._arguments = (method, *arguments)
        self._options = options
        self._of: grpc.aio.Channel | None = None

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        now = self._channel.now
        if self._of is not now:
            self._of, self._begin = now, getattr(now, self._kind)(*self._arguments, **self._options)
        return self._begin(*arguments, **options)
