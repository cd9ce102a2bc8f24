"""No private or reserved address is connected to, however it is written. The connector records; no packet leaves."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from aiohttp import AddrInfoType
from aiohttp.abc import AbstractResolver, ResolveResult

from services.providers.addresses import permitted
from services.providers.http import Client, Get, Http
from services.providers.provider import Base, Profile
from services.providers.settings import Access, ProviderSettings
from services.runtime.deadline import Deadline
from services.runtime.errors import LanemeshError, Refused, Unavailable

# Names that an attacker's own name server would resolve to such addresses.
NAMES = {
    "loopback.example": "127.0.0.1",
    "private.example": "10.0.0.8",
    "metadata.example": "169.254.169.254",
    "metadata.google.internal": "169.254.169.254",
    "mapped.example": "::ffff:192.168.0.1",
    "six.example": "fd00::1",
    "localhost": "127.0.0.1",
    "public.example": "93.184.215.14",
    "public-six.example": "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
    "translated.example": "64:ff9b::5db8:d70e",
}
FORBIDDEN = [
    # Loopback, and every way to write it.
    "http://127.0.0.1/",
    "http://127.0.0.1:6379/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.255.255.254/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://0x7F.0x0.0x0.0x1/",
    "http://127.0x0.0.01/",
    "http://%31%32%37.0.0.1/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://127.0.0.1./",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://loopback.example/",
    # Nobody, which many systems take for themselves.
    "http://0/",
    "http://0.0.0.0/",
    "http://0.0.0.0:8080/",
    "http://0.1.2.3/",
    "http://0x0/",
    # Private networks.
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://167772161/",
    "http://012.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://0xac100001/",
    "http://192.168.1.1/",
    "http://192.168.257/",
    "http://3232235777/",
    "http://private.example/",
    # Shared by carriers.
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    # Link-local, metadata services among it.
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.170.2/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://0xA9.0xFE.0xA9.0xFE/",
    "http://169.254.43518/",
    "http://metadata.example/",
    "http://metadata.google.internal/computeMetadata/v1/",
    # Reserved, documentation, benchmarks, multicast, broadcast, relays.
    "http://192.0.0.1/",
    "http://192.0.0.192/",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://239.255.255.250/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    # The same in IPv6.
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:7f00:1::1]/",
    "http://[2001:db8::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[100::1]/",
    "http://[5f00::1]/",
    "http://mapped.example/",
    "http://six.example/",
]
NO_ADDRESS = [
    "http:///etc/passwd",
    "http://user:secret@93.184.215.14/",
    "http://93.184.215.14:99999/",
    "http://[::1/",
    "https://",
]
PUBLIC = [
    "http://93.184.215.14/",
    "http://public.example/",
    "http://public-six.example/",
    "http://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
    "http://[::ffff:93.184.215.14]/",
    "http://translated.example/",
]


class Resolver(AbstractResolver):
    """Knows the names above and every numeric spelling that the system takes for an address; asks nobody."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        known = NAMES.get(host.lower().rstrip("."), host)
        flags = socket.AI_NUMERICHOST
        infos = socket.getaddrinfo(known, port, type=socket.SOCK_STREAM, flags=flags)
        return [
            ResolveResult(
                hostname=host, host=str(address[0]), port=port, family=found, proto=protocol, flags=int(flags)
            )
            for found, _, protocol, _, address in infos
        ]

    async def close(self) -> None:
        return None


class Recorder:
    """Stands where sockets are made: writes down who would be called, and calls nobody."""

    def __init__(self) -> None:
        self.called: list[Any] = []

    def __call__(self, info: AddrInfoType) -> socket.socket:
        self.called.append(info[4][0])
        raise OSError("recorded")


async def fetch(url: str, recorder: Recorder, allowed: tuple[str, ...] = ()) -> None:
    settings = ProviderSettings(allowed=allowed)
    client = Client(settings, resolver=Resolver(), make_socket=recorder)
    base = Base("UNUSED", "https://unused.example")
    try:
        await Http(client, Access(Profile("test", (base,)), {base: base.url}), Deadline.after(30)).text(Get(url))
    finally:
        await client.close()


def test_the_list_is_long_enough() -> None:
    assert len(set(FORBIDDEN)) >= 60


@pytest.mark.parametrize("url", FORBIDDEN)
async def test_no_socket_is_made_for_a_forbidden_address(url: str) -> None:
    recorder = Recorder()
    with pytest.raises(LanemeshError):
        await fetch(url, recorder)
    assert recorder.called == []


@pytest.mark.parametrize("url", NO_ADDRESS)
async def test_what_is_no_address_is_refused(url: str) -> None:
    recorder = Recorder()
    with pytest.raises(Refused):
        await fetch(url, recorder)
    assert recorder.called == []


@pytest.mark.parametrize("url", PUBLIC)
async def test_public_addresses_are_called(url: str) -> None:
    recorder = Recorder()
    with pytest.raises(Unavailable):
        await fetch(url, recorder)
    assert len(recorder.called) == 1


async def test_an_address_can_be_allowed_and_its_neighbours_stay_forbidden() -> None:
    recorder = Recorder()
    with pytest.raises(Unavailable):
        await fetch("http://127.0.0.1/", recorder, allowed=("127.0.0.1/32",))
    with pytest.raises(Refused) as caught:
        await fetch("http://127.0.0.2/", recorder, allowed=("127.0.0.1/32",))
    assert recorder.called == ["127.0.0.1"]
    assert caught.value.reason == "FORBIDDEN_ADDRESS"


def test_every_address_around_the_edges() -> None:
    for inside in ("9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0"):
        assert permitted(inside)
    for outside in ("10.0.0.0", "172.16.0.0", "172.31.255.255", "100.64.0.0", "169.254.0.0", "192.168.255.255"):
        assert not permitted(outside)
