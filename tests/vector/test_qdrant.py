"""The adapter to a Qdrant server: what it sends, and what it makes of a server that is away, slow, strict or broken."""

from __future__ import annotations

import asyncio
import math

import grpc
import pytest
from lanemesh.v1.evidence_pb2 import Document
from qdrant_client import grpc as wire

from services.embedding.models import Model
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import (
    STATUS,
    BadReply,
    DeadlinePassed,
    LanemeshError,
    Overloaded,
    Refused,
    StartupError,
    Unavailable,
)
from services.vector.lane import VectorLane
from services.vector.payload import COLLECTION, INTEGER_FIELDS, KEYWORD_FIELDS
from services.vector.qdrant import QdrantEngine
from services.vector.qdrant_errors import TRANSLATION
from tests.vector.lanes import WORDS, WordEmbedder, found, search, server_engine, store
from tests.vector.qdrant_server import QdrantServer


@pytest.fixture
async def lane(server: QdrantServer):
    opened = VectorLane(await server_engine(server, key="the-key"), WordEmbedder())
    yield opened
    await opened.close()


async def test_collection_is_created_once_as_it_must_be(lane: VectorLane, server: QdrantServer) -> None:
    await lane.check()
    (created,) = server.behaviour.of("Create")
    params = created.request.vectors_config.params
    assert (created.request.collection_name, params.size) == (COLLECTION, 64)
    assert params.distance == wire.Distance.Cosine
    assert created.request.metadata["model"].string_value == "words"
    assert not created.request.HasField("quantization_config")
    indexes = {call.request.field_name: call.request.field_type for call in server.behaviour.of("CreateFieldIndex")}
    assert indexes == {
        **dict.fromkeys(KEYWORD_FIELDS, wire.FieldType.FieldTypeKeyword),
        **dict.fromkeys(INTEGER_FIELDS, wire.FieldType.FieldTypeInteger),
    }


async def test_quantised_collection(server: QdrantServer) -> None:
    engine = await server_engine(server, quantised=True)
    (created,) = server.behaviour.of("Create")
    assert created.request.quantization_config.scalar.type == wire.QuantizationType.Int8
    await engine.close()


async def test_interrupted_creation_is_completed(lane: VectorLane, server: QdrantServer) -> None:
    del server.store.schema["tags"]
    second = await server_engine(server)
    indexed = [call.request.field_name for call in server.behaviour.of("CreateFieldIndex")]
    assert (len(server.behaviour.of("Create")), indexed.count("tags"), indexed.count("project")) == (1, 2, 1)
    await second.close()


async def test_search_as_it_goes_over_the_wire(lane: VectorLane, server: QdrantServer) -> None:
    await store(lane, Document(id="a", content="zebra", project="p"))
    with ambient(Deadline.after(1.5)):
        await search(lane, "zebra", max_results=3, projects=["p"], access_labels=["l"])
    query = server.behaviour.of("Query")[-1]
    conditions = {each.field.key: list(each.field.match.keywords.strings) for each in query.request.filter.must}
    assert conditions == {"access": ["label:l", "public"], "project": ["p"]}
    assert (query.request.collection_name, query.request.limit) == (COLLECTION, 12)
    assert math.isclose(query.request.score_threshold, 0.3, rel_tol=1e-6)
    assert query.request.timeout == 2
    assert query.seconds <= 2.1
    scroll = server.behaviour.of("Scroll")[-1]
    assert {each.WhichOneof("condition_one_of") for each in scroll.request.filter.must} == {"has_id", "field"}
    assert {call.metadata.get("api-key") for call in server.behaviour.calls} == {"the-key"}


async def test_dimension_mismatch_names_both(lane: VectorLane, server: QdrantServer) -> None:
    other = Model("words", 32, 40, 0.3, 0.3, 0.9)
    with pytest.raises(StartupError, match=r"dimension 64.*makes 32"):
        await server_engine(server, other)


async def test_vectors_of_another_model_refuse_to_start(lane: VectorLane, server: QdrantServer) -> None:
    with pytest.raises(StartupError, match="holds vectors of words, not of other"):
        await server_engine(server, Model("other", 64, 40, 0.3, 0.3, 0.9))


async def test_foreign_url_refuses_to_start(server: QdrantServer) -> None:
    with pytest.raises(StartupError, match="QDRANT_URL=ftp://x"):
        await QdrantEngine.open("ftp://x", None, WORDS, grpc_port=1, time_out=1.0, quantised=False)


async def test_server_away_at_the_start_then_there_then_lost_then_back(server: QdrantServer) -> None:
    await server.stop()
    lane = VectorLane(await server_engine(server), WordEmbedder())
    for call in (lane.check, lambda: search(lane, "zebra"), lambda: store(lane, Document(id="a", content="zebra"))):
        with pytest.raises(Unavailable, match="cannot be reached"):
            await call()
    await server.start()
    await _until_ready(lane)
    await store(lane, Document(id="a", content="zebra"))
    assert await found(lane, "zebra") == {"a"}
    await server.stop()
    with pytest.raises(Unavailable):
        await search(lane, "zebra")
    await server.start()
    await _until_ready(lane)
    assert await found(lane, "zebra") == {"a"}
    await lane.close()


async def _until_ready(lane: VectorLane) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                await lane.check()
            except (Unavailable, DeadlinePassed):
                await asyncio.sleep(0.01)
            else:
                return


async def test_server_lost_during_a_search(lane: VectorLane, server: QdrantServer) -> None:
    await store(lane, Document(id="a", content="zebra"))
    server.behaviour.hanging = frozenset({"Query"})
    searching = asyncio.create_task(search(lane, "zebra"))
    await server.behaviour.hung.wait()
    await server.stop()
    with pytest.raises(Unavailable):
        await searching
    server.behaviour.hanging = frozenset()
    await server.start()
    await _until_ready(lane)
    assert await found(lane, "zebra") == {"a"}


async def test_slow_server_is_left_at_the_deadline(lane: VectorLane, server: QdrantServer) -> None:
    await store(lane, Document(id="a", content="zebra"))
    server.behaviour.hanging = frozenset({"Query"})
    with ambient(Deadline.after(0.05)), pytest.raises(DeadlinePassed):
        await search(lane, "zebra")
    server.behaviour.hanging = frozenset()
    assert await found(lane, "zebra") == {"a"}


async def test_time_out_of_settings_bounds_calls_without_a_deadline(lane: VectorLane, server: QdrantServer) -> None:
    engine = await server_engine(server, time_out=0.2)
    await _until_ready(VectorLane(engine, WordEmbedder()))
    server.behaviour.hanging = frozenset({"Count"})
    with pytest.raises(DeadlinePassed):
        await engine.check()
    await engine.close()


async def test_passed_deadline_asks_nobody(lane: VectorLane, server: QdrantServer) -> None:
    before = len(server.behaviour.calls)
    with ambient(Deadline.after(-1.0)), pytest.raises(DeadlinePassed):
        await search(lane, "zebra")
    assert len(server.behaviour.calls) == before


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, Unavailable),
        (grpc.StatusCode.PERMISSION_DENIED, Unavailable),
        (grpc.StatusCode.NOT_FOUND, Unavailable),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, Overloaded),
        (grpc.StatusCode.INVALID_ARGUMENT, Refused),
        (grpc.StatusCode.INTERNAL, Unavailable),
    ],
)
async def test_errors_of_the_server(
    lane: VectorLane, server: QdrantServer, status: grpc.StatusCode, kind: type[LanemeshError]
) -> None:
    server.behaviour.status = status
    with pytest.raises(kind) as raised:
        await search(lane, "zebra")
    assert "secret" not in raised.value.message


async def test_retry_hint_is_passed_on(lane: VectorLane, server: QdrantServer) -> None:
    server.behaviour.status = grpc.StatusCode.RESOURCE_EXHAUSTED
    server.behaviour.trailing = (("retry-after", "7"),)
    with pytest.raises(Overloaded) as raised:
        await search(lane, "zebra")
    assert raised.value.retry_after == 7.0


async def test_garbage_is_a_bad_reply(lane: VectorLane, server: QdrantServer) -> None:
    server.behaviour.garbled = True
    with pytest.raises(BadReply):
        await search(lane, "zebra")


def test_every_status_has_a_translation() -> None:
    assert set(TRANSLATION) == {status.name for status in grpc.StatusCode} - {"OK"}
    assert {kind for kind, _ in TRANSLATION.values()} <= set(STATUS)
