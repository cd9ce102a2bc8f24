"""One channel per replica: picked in turn, looked up anew, and kept while the name cannot be looked up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import grpc
import pytest

from services.runtime.clients import Peers, open_channel
from services.runtime.replicas import Replicas, listed, look_up, several
from tests.support import NOBODY, FakeLane, lane_server

NAME = "dns:///vector.mesh:50051"


@pytest.mark.parametrize(
    ("address", "addresses"),
    [
        ("127.0.0.1:50051", ["127.0.0.1:50051"]),
        (NAME, [NAME]),
        ("ipv4:10.0.0.1:1", ["ipv4:10.0.0.1:1"]),
        ("ipv4:10.0.0.1:1,10.0.0.2:2", ["ipv4:10.0.0.1:1", "ipv4:10.0.0.2:2"]),
        ("ipv6:[::1]:1,[::2]:2", ["ipv6:[::1]:1", "ipv6:[::2]:2"]),
    ],
)
def test_addresses_that_are_spelt_out(address: str, addresses: list[str]) -> None:
    assert listed(address) == addresses


def test_only_names_and_lists_may_be_several() -> None:
    assert [several(address) for address in ("127.0.0.1:1", NAME, "ipv4:10.0.0.1:1,10.0.0.2:1")] == [False, True, True]


async def test_a_name_of_this_machine_is_looked_up() -> None:
    assert "ipv4:127.0.0.1:50051" in await look_up("localhost", "50051")


class Names:
    """A name service of one name."""

    def __init__(self, *addresses: str) -> None:
        self.addresses: Sequence[str] = addresses
        self.broken = False
        self.asked: list[tuple[str, str]] = []
        self.was_asked = asyncio.Event()

    async def __call__(self, host: str, port: str) -> Sequence[str]:
        self.asked.append((host, port))
        self.was_asked.set()
        if self.broken:
            raise OSError(-2, "Name or service not known")
        return self.addresses


class Opened:
    """Opens channels and remembers which."""

    def __init__(self) -> None:
        self.by_address: dict[str, grpc.aio.Channel] = {}

    def __call__(self, address: str) -> grpc.aio.Channel:
        self.by_address[address] = open_channel(address, watching=True)
        return self.by_address[address]


async def test_one_process_behind_a_name_keeps_the_channel_to_the_name() -> None:
    async with open_channel(NOBODY) as own:
        opened = Opened()
        replicas = Replicas(NAME, own, opened, Names("ipv4:127.0.0.1:1"))
        await replicas.refresh()
        assert len(replicas) == 1
        assert replicas.pick() is own
        assert replicas.another(own) is None
        assert not opened.by_address
        await replicas.close()


async def test_replicas_come_and_go_with_the_name() -> None:
    names = Names("ipv4:127.0.0.1:1", "ipv4:127.0.0.1:2")
    async with open_channel(NOBODY) as own:
        opened = Opened()
        replicas = Replicas(NAME, own, opened, names)
        await replicas.refresh()
        assert names.asked == [("vector.mesh", "50051")]
        kept = opened.by_address["ipv4:127.0.0.1:2"]
        assert {replicas.pick() for _ in range(4)} == set(opened.by_address.values())
        names.addresses = ["ipv4:127.0.0.1:2", "ipv4:127.0.0.1:3"]
        await replicas.refresh()
        assert {replicas.pick() for _ in range(4)} == {kept, opened.by_address["ipv4:127.0.0.1:3"]}
        names.broken = True
        await replicas.refresh()
        assert len(replicas) == 2
        names.broken, names.addresses = False, ["ipv4:127.0.0.1:2"]
        await replicas.refresh()
        assert replicas.pick() is own
        await replicas.close()


async def test_a_name_is_looked_up_again_and_again_until_closed() -> None:
    names = Names()
    async with open_channel(NOBODY) as own, asyncio.timeout(30):
        replicas = Replicas(NAME, own, Opened(), names)
        replicas.watch(0.001)
        for _ in range(3):
            await names.was_asked.wait()
            names.was_asked.clear()
        await replicas.close()


async def test_only_ready_replicas_are_picked_while_there_are_any() -> None:
    async with lane_server("vector", FakeLane()) as address, open_channel(NOBODY) as own:
        opened = Opened()
        replicas = Replicas(f"ipv4:{address},127.0.0.1:1", own, opened)
        ready, gone = opened.by_address[f"ipv4:{address}"], opened.by_address["ipv4:127.0.0.1:1"]
        await asyncio.wait_for(ready.channel_ready(), 30)
        assert {replicas.pick() for _ in range(6)} == {ready}
        assert replicas.another(gone) is ready
        assert replicas.another(ready) is None
        await replicas.close()


async def test_a_replica_that_drains_is_no_longer_picked() -> None:
    draining = FakeLane()
    async with lane_server("vector", FakeLane()) as stays, lane_server("vector", draining) as goes:
        peers = Peers({"vector": f"ipv4:{stays},{goes}"}, max_reply_bytes=1024)
        replicas = peers.replicas("vector", look_every=60.0)
        channels = {replicas.pick() for _ in range(4)}
        await asyncio.wait_for(asyncio.gather(*(channel.channel_ready() for channel in channels)), 30)
        both = {replicas.pick() for _ in range(4)}
        assert len(both) == 2
        draining.healthy = False
        async with asyncio.timeout(30):
            await asyncio.wait(
                [asyncio.ensure_future(each.wait_for_state_change(grpc.ChannelConnectivity.READY)) for each in both],
                return_when=asyncio.FIRST_COMPLETED,
            )
        assert len({replicas.pick() for _ in range(4)}) == 1
        await peers.close()
