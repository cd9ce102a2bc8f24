"""A client of one unary method that costs the machine next to nothing: HTTP/2 frames written and read as bytes.

Whatever sends the load runs beside the mesh on the same cores; what it costs, the mesh cannot use. A gRPC client takes
about 300 µs of CPU for each call, this one a tenth of that, so that a thousand calls a second do not starve the mesh.
"""

from __future__ import annotations

import asyncio
import re
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import cast

import grpc

# The frames of RFC 9113 that a unary call needs.
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GO_AWAY, _WINDOW = 0x0, 0x1, 0x3, 0x4, 0x6, 0x7, 0x8
_END_STREAM, _END_HEADERS, _ACK = 0x1, 0x4, 0x1
_CANCEL = 8
_FRAME = struct.Struct(">BHBBI")
# No table of headers (1), so that trailers come as text; streams without a window (4); frames as large as may be (5).
_WISHES = struct.pack(">HIHIHI", 1, 0, 4, 2**31 - 1, 5, 2**24 - 1)
_OPENING = 2**31 - 1 - 65_535
# Bytes after which the peer is told that they were read.
_READ = 1 << 22
_STATUS = re.compile(rb"grpc-status[\x01\x02](\d+)")
# Seconds between two looks at what is due.
TICK = 0.005
_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}
# Name of the status, the message, seconds from the sending to the end.
Ended = Callable[[str, bytes, float], None]


class Wire(asyncio.Protocol):
    """One connection over which one message is sent again and again."""

    def __init__(self, authority: str, method: str, message: bytes, deadline: float) -> None:
        self._block = _headers(authority, method, deadline)
        self._message = struct.pack(">BI", 0, len(message)) + message
        self._deadline = deadline
        self._streams: dict[int, tuple[float, Ended]] = {}
        self._bodies: defaultdict[int, bytearray] = defaultdict(bytearray)
        self._next = 1
        self._unread = b""
        self._read = 0
        self._lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Opens with what this side wishes of the other."""
        # uvloop's transport of a socket is one to write to, though not by its class.
        self._transport = cast(asyncio.WriteTransport, transport)
        opening = _frame(_SETTINGS, 0, 0, _WISHES) + _frame(_WINDOW, 0, 0, struct.pack(">I", _OPENING))
        self._transport.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + opening)

    def connection_lost(self, _error: Exception | None) -> None:
        """Whatever was under way is lost."""
        self._lost.set()
        for stream in list(self._streams):
            self._end(stream, "UNAVAILABLE")

    @property
    def busy(self) -> bool:
        """Whether an answer is outstanding."""
        return bool(self._streams)

    def send(self, ended: Ended) -> None:
        """Sends the message; `ended` hears what became of it."""
        stream, self._next = self._next, self._next + 2
        self._streams[stream] = (time.perf_counter(), ended)
        head = _frame(_HEADERS, _END_HEADERS, stream, self._block)
        self._transport.write(head + _frame(_DATA, _END_STREAM, stream, self._message))

    def expire(self) -> None:
        """Gives up the calls whose deadline has passed, oldest first, as any gRPC client does."""
        over = time.perf_counter() - self._deadline
        while self._streams:
            stream, (started, _) = next(iter(self._streams.items()))
            if started > over:
                return
            self._transport.write(_frame(_RESET, 0, stream, struct.pack(">I", _CANCEL)))
            self._end(stream, "DEADLINE_EXCEEDED")

    async def close(self) -> None:
        """Closes the connection."""
        self._transport.close()
        await self._lost.wait()

    def data_received(self, data: bytes) -> None:
        """Takes the frames apart that are whole."""
        data, at = self._unread + data if self._unread else data, 0
        while len(data) - at >= 9:
            high, low, kind, flags, stream = _FRAME.unpack_from(data, at)
            end = at + 9 + (high << 16) + low
            if end > len(data):
                break
            self._take(kind, flags, stream, data[at + 9 : end])
            at = end
        self._unread = data[at:]

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == _DATA:
            self._account(len(payload))
            if stream in self._streams:
                self._bodies[stream] += payload
        elif kind == _HEADERS and flags & _END_STREAM:
            found = _STATUS.search(payload)
            self._end(stream, _NAMES[int(found[1])] if found else "UNREADABLE")
        elif kind == _RESET:
            # A stream that is reset by the peer ended without a status.
            self._end(stream, "RESET")
        elif kind in (_SETTINGS, _PING) and not flags & _ACK:
            self._transport.write(_frame(kind, _ACK, 0, payload if kind == _PING else b""))
        elif kind == _GO_AWAY:
            self._transport.close()

    def _account(self, size: int) -> None:
        self._read += size
        if self._read >= _READ:
            self._transport.write(_frame(_WINDOW, 0, 0, struct.pack(">I", self._read)))
            self._read = 0

    def _end(self, stream: int, status: str) -> None:
        body = self._bodies.pop(stream, b"")
        if stream in self._streams:
            started, ended = self._streams.pop(stream)
            ended(status, bytes(body[5:]), time.perf_counter() - started)


async def connect(address: str, method: str, message: bytes, deadline: float) -> Wire:
    """A connection to a server without TLS."""
    host, _, port = address.rpartition(":")
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(lambda: Wire(address, method, message, deadline), host, int(port))
    return wire


async def paced(wires: Sequence[Wire], rate: float, seconds: float, ended: Ended, tick: float = TICK) -> float:
    """Sends so many a second, each when it is due whatever became of the others; returns the seconds that took."""
    began = time.perf_counter()
    sent, count = 0, int(rate * seconds)
    while sent < count:
        due = min(count, int((time.perf_counter() - began) * rate) + 1)
        for number in range(sent, due):
            wires[number % len(wires)].send(ended)
        sent = due
        for wire in wires:
            wire.expire()
        await asyncio.sleep(max(tick, began + sent / rate - time.perf_counter()))
    return time.perf_counter() - began


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return _FRAME.pack(len(payload) >> 16, len(payload) & 0xFFFF, kind, flags, stream) + payload


def _headers(authority: str, method: str, deadline: float) -> bytes:
    """The header block: POST, http, and literals that no table keeps."""
    fields = (("te", "trailers"), ("grpc-timeout", f"{deadline * 1000:.0f}m"))
    literals = b"".join(b"\x00" + _text(name) + _text(value) for name, value in fields)
    # 0x04 is :path, 0x01 :authority, 0x0f10 content-type in the static table of RFC 7541.
    head = b"\x83\x86\x04" + _text(method) + b"\x01" + _text(authority)
    return head + b"\x0f\x10" + _text("application/grpc") + literals


def _text(value: str) -> bytes:
    return bytes([len(value)]) + value.encode()
