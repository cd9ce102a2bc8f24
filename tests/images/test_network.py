"""The name server and the relay that stand for a cluster's network."""

from __future__ import annotations

import asyncio
import struct

from tests.images.network import answer, relaying

QUERY = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03web\x07default\x00\x00%c\x00\x01"


def _asked(kind: int, addresses: list[str] | None) -> tuple[int, int, bytes]:
    reply = answer(QUERY % kind, lambda name: addresses if name == "web.default" else None)
    (flags, _, records) = struct.unpack("!HHH", reply[2:8])
    return flags & 0xF, records, reply[len(QUERY) - 1 :]


def test_a_name_has_the_address_of_every_pod() -> None:
    code, records, body = _asked(1, ["10.0.0.1", "10.0.0.2"])
    assert (code, records) == (0, 2)
    assert body[-4:] == bytes([10, 0, 0, 2])


def test_a_name_without_pods_or_of_another_family_is_empty() -> None:
    assert _asked(1, [])[:2] == (0, 0)
    assert _asked(28, ["10.0.0.1"])[:2] == (0, 0)


def test_an_unknown_name_is_no_name() -> None:
    assert _asked(1, None)[:2] == (3, 0)


async def test_each_connection_goes_to_the_next_pod() -> None:
    async def greet(name: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(name)
        writer.close()

    pods = [
        await asyncio.start_server(lambda _, writer, name=name: greet(name, writer), "127.0.0.1", 0)
        for name in (b"a", b"b")
    ]
    targets = [pod.sockets[0].getsockname()[:2] for pod in pods]
    said = []
    async with relaying("127.0.0.1", 0, lambda: targets) as port:
        for _ in range(4):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            said.append(await reader.read())
            writer.close()
            await writer.wait_closed()
    assert sorted(said) == [b"a", b"a", b"b", b"b"]
    for pod in pods:
        pod.close()
