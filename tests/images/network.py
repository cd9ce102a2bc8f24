"""What a cluster's network does for the pods: names of Services, and one address for a Service with several pods."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from typing import cast

Find = Callable[[str], Sequence[str] | None]
A, NAME_ERROR = 1, 3
TTL = 5
# From linux/in.h; the socket module of 3.11 does not have it.
IP_FREEBIND = 15


class Names(asyncio.DatagramProtocol):
    """A name server for Services: the addresses of the ready pods for a headless one, its own for another."""

    def __init__(self, find: Find) -> None:
        self._find = find

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        self._transport.sendto(answer(data, self._find), address)


def answer(query: bytes, find: Find) -> bytes:
    """The reply to one query."""
    labels, place = [], 12
    while length := query[place]:
        labels.append(query[place + 1 : place + 1 + length].decode("ascii"))
        place += 1 + length
    question = query[12 : place + 5]
    (kind,) = struct.unpack("!H", query[place + 1 : place + 3])
    addresses = find(".".join(labels).lower())
    records = [ipaddress.IPv4Address(address).packed for address in addresses or ()] if kind == A else []
    flags = 0x8580 | (NAME_ERROR if addresses is None else 0)
    head = query[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0)
    body = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", A, 1, TTL, len(packed)) + packed for packed in records)
    return head + question + body


def bound(kind: socket.SocketKind, host: str, port: int) -> socket.socket:
    """A socket on an address that this machine may only have once the first pod is there."""
    made = socket.socket(socket.AF_INET, kind)
    made.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setblocking(False)
    made.bind((host, port))
    return made


@asynccontextmanager
async def names(host: str, find: Find) -> AsyncIterator[None]:
    """The name server, on the usual port of an address of this machine."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: Names(find), sock=bound(socket.SOCK_DGRAM, host, 53))
    try:
        yield
    finally:
        transport.close()


class Relay:
    """The address of a Service: each new connection goes to the next of its ready pods, and stays with it."""

    def __init__(self, targets: Callable[[], Sequence[tuple[str, int]]]) -> None:
        self._targets = targets
        self._turn = 0
        self._connections: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        task = asyncio.create_task(self._connect(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def close(self) -> None:
        """Cuts what is still connected."""
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        targets = self._targets()
        # Without a pod, or with one that is gone, the caller finds the connection closed.
        with suppress(OSError), closing(writer):
            if targets:
                self._turn += 1
                far_reader, far_writer = await asyncio.open_connection(*targets[self._turn % len(targets)])
                with closing(far_writer):
                    await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.write_eof()


@asynccontextmanager
async def relaying(host: str, port: int, targets: Callable[[], Sequence[tuple[str, int]]]) -> AsyncIterator[int]:
    """A relay on an address of this machine; its port."""
    relay = Relay(targets)
    server = await asyncio.start_server(relay.accept, sock=bound(socket.SOCK_STREAM, host, port))
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await relay.close()
