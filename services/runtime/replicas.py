"""The processes behind one name, each over a channel of its own, so that a second call can go to another replica."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence

import grpc

log = logging.getLogger(__name__)

# How long a replica that is no longer behind the name may finish the calls it has.
RETIRE_SECONDS = 10.0

Open = Callable[[str], grpc.aio.Channel]
Resolve = Callable[[str, str], Awaitable[Sequence[str]]]


def several(address: str) -> bool:
    """Whether an address may stand for more than one process."""
    return address.startswith("dns:") or "," in address


def listed(address: str) -> list[str]:
    """The addresses an address spells out: `ipv4:10.0.0.1:50051,10.0.0.2:50051` is two. A name is one."""
    scheme, separator, rest = address.partition(":")
    if separator and scheme in ("ipv4", "ipv6"):
        return [f"{scheme}:{part.strip()}" for part in rest.split(",") if part.strip()]
    return [address]


async def look_up(host: str, port: str) -> list[str]:
    """Every address of a name, in an order that does not change from one look to the next."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    places = {(family, str(place[0]), int(place[1])) for family, _, _, _, place in found}
    return sorted(
        f"ipv6:[{address}]:{number}" if family == socket.AF_INET6 else f"ipv4:{address}:{number}"
        for family, address, number in places
    )


class Replicas:
    """The channels behind one address. A name is looked up again and again; one process behind it keeps its channel."""

    def __init__(self, address: str, own: grpc.aio.Channel, open_: Open, resolve: Resolve = look_up) -> None:
        self._address = address
        # Leads to the name itself; used while the name stands for one process, and closed by whoever opened it.
        self._own = own
        self._open = open_
        self._resolve = resolve
        self._by_address: dict[str, grpc.aio.Channel] = {}
        self._turn = 0
        self._watching: asyncio.Task[None] | None = None
        self._retiring: set[asyncio.Task[None]] = set()
        self._set(listed(address))

    def __len__(self) -> int:
        return len(self._by_address) or 1

    def pick(self) -> grpc.aio.Channel:
        """The replica whose turn it is, of those that are ready; of all when none is."""
        if not self._by_address:
            return self._own
        channels = list(self._by_address.values())
        self._turn += 1
        pool = [channel for channel in channels if _ready(channel)] or channels
        return pool[self._turn % len(pool)]

    def another(self, than: grpc.aio.Channel) -> grpc.aio.Channel | None:
        """A ready replica other than that one, if there is any."""
        pool = [channel for channel in self._by_address.values() if channel is not than and _ready(channel)]
        return pool[self._turn % len(pool)] if pool else None

    def watch(self, every_seconds: float) -> None:
        """Looks the name up from now on, in the running loop. An address that is no name needs no watching."""
        if self._address.startswith("dns:") and self._watching is None:
            self._watching = asyncio.get_running_loop().create_task(self._watch(every_seconds))

    async def refresh(self) -> None:
        """Looks the name up now; when that fails, what was known stands."""
        host, _, port = self._address.rpartition("/")[2].removeprefix("dns:").rpartition(":")
        try:
            self._set(await self._resolve(host.strip("[]"), port))
        except OSError as error:
            log.warning("%s cannot be looked up: %s", self._address, error.strerror)

    async def close(self) -> None:
        """Closes the channels opened here."""
        if self._watching is not None:
            self._watching.cancel()
        for task in self._retiring:
            task.cancel()
        for channel in self._by_address.values():
            await channel.close()

    async def _watch(self, every_seconds: float) -> None:
        while True:
            await self.refresh()
            await asyncio.sleep(every_seconds)

    def _set(self, addresses: Sequence[str]) -> None:
        wanted = addresses if len(addresses) > 1 else ()
        for address in self._by_address.keys() - set(wanted):
            self._retire(self._by_address.pop(address))
        for address in wanted:
            if address not in self._by_address:
                channel = self._by_address[address] = self._open(address)
                channel.get_state(try_to_connect=True)

    def _retire(self, channel: grpc.aio.Channel) -> None:
        task = asyncio.get_running_loop().create_task(channel.close(RETIRE_SECONDS))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)


def _ready(channel: grpc.aio.Channel) -> bool:
    return channel.get_state() is grpc.ChannelConnectivity.READY
