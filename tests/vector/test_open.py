"""The lane as a process opens it: by its settings, with the model that comes with it, over gRPC."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.lane_pb2 import LANE_STATUS_EMPTY, LANE_STATUS_OK, LANE_STATUS_TIMEOUT, RetrieveRequest
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime.errors import StartupError
from services.vector.lane import VectorLane, open_lane
from tests.support import lane_server
from tests.vector.lanes import WordEmbedder, server_engine, store
from tests.vector.qdrant_server import QdrantServer

DOCUMENTS = (
    Document(id="cats", title="Cats", content="Most felines spend two thirds of the day asleep."),
    Document(id="bonds", content="Yields of government debt rose after the central bank's decision."),
    Document(id="retry", content="A failed charge is attempted again three times with growing pauses."),
    Document(id="bread", content="Knead the dough for ten minutes and let it rise overnight."),
)


async def test_meaning_is_found_without_a_common_word(tmp_path: Path) -> None:
    lane = await open_lane({"LANEMESH_HOME": str(tmp_path)})
    await store(lane, *DOCUMENTS)
    async with lane_server("vector", lane) as address, grpc.aio.insecure_channel(address) as channel:
        stub = LaneServiceStub(channel)
        for query, expected in (
            ("how long do kittens nap?", "cats"),
            ("interest rates", "bonds"),
            ("What happens when a payment does not go through?", "retry"),
            ("baking a loaf", "bread"),
        ):
            reply = await stub.Retrieve(RetrieveRequest(query=query, max_results=4))
            assert reply.evidence[0].document.id == expected
            assert (reply.status, reply.engine, reply.lane) == (LANE_STATUS_OK, "qdrant-edge", "vector")
        reply = await stub.Retrieve(RetrieveRequest(query="xyzzy plugh 0x1f", max_results=4))
        assert reply.status in (LANE_STATUS_OK, LANE_STATUS_EMPTY)
    await lane.close()


async def test_settings_that_are_wrong_refuse_to_start(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="LANEMESH_VECTOR_QUANTISATION"):
        await open_lane({"LANEMESH_HOME": str(tmp_path), "LANEMESH_VECTOR_QUANTISATION": "int4"})


async def test_unreachable_server_is_unavailable_and_slow_one_a_time_out(server: QdrantServer) -> None:
    lane = VectorLane(await server_engine(server), WordEmbedder())
    await store(lane, Document(id="a", content="zebra"))
    async with lane_server("vector", lane) as address, grpc.aio.insecure_channel(address) as channel:
        stub = LaneServiceStub(channel)
        server.behaviour.hanging = frozenset({"Query"})
        reply = await stub.Retrieve(RetrieveRequest(query="zebra", max_results=4), timeout=0.3)
        assert (reply.status, reply.reason) == (LANE_STATUS_TIMEOUT, "DEADLINE_EXCEEDED")
        server.behaviour.hanging = frozenset()
        await server.stop()
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await stub.Retrieve(RetrieveRequest(query="zebra", max_results=4))
        assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
        await server.start()
    await lane.close()
