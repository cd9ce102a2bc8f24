"""Before a gateway's pod leaves, its Envoy sends callers elsewhere, and none of them loses a call."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
from lanemesh.v1.search_pb2 import DEGRADATION_L0, SearchRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from gateway.drain import ask
from tests.envoy.running import envoyed
from tests.support import FakeLane, evidence

# As the chart starts it.
OPTIONS = ("--drain-strategy", "immediate", "--drain-time-s", "60")


async def test_a_caller_is_sent_away_and_is_answered_meanwhile(tmp_path: Path) -> None:
    lanes = {"keyword": [FakeLane([evidence("a", "Checkout reserves stock.")])]}
    async with envoyed(tmp_path, lanes, options=OPTIONS) as door, grpc.aio.insecure_channel(door.address) as channel:
        stub = SearchServiceStub(channel)
        for _ in range(5):
            await stub.Search(SearchRequest(query="stock"))
        assert channel.get_state() is grpc.ChannelConnectivity.READY
        await asyncio.to_thread(ask, str(tmp_path / "admin.sock"))
        for _ in range(20):
            reply = await stub.Search(SearchRequest(query="stock"), wait_for_ready=True)
            assert reply.degradation == DEGRADATION_L0
            # Each answer tells the caller to leave, so that the next call goes over another connection.
            async with asyncio.timeout(20):
                while channel.get_state() is grpc.ChannelConnectivity.READY:
                    await channel.wait_for_state_change(grpc.ChannelConnectivity.READY)
