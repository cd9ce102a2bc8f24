"""A Qdrant server for tests: Qdrant's own gRPC services over one embedded shard, which can be told to misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import qdrant_edge as edge
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import json_to_value, value_to_json

OK = wire.UpdateResult(operation_id=1, status=wire.UpdateStatus.Completed)
SCHEMAS = {
    wire.FieldType.FieldTypeKeyword: (edge.PayloadSchemaType.Keyword, wire.PayloadSchemaType.Keyword),
    wire.FieldType.FieldTypeInteger: (edge.PayloadSchemaType.Integer, wire.PayloadSchemaType.Integer),
}


@dataclass
class Call:
    """One request as it arrived."""

    method: str
    request: Any
    metadata: dict[str, str]
    seconds: float


@dataclass
class Behaviour:
    """What the server does to the calls that reach it, and the calls that did."""

    calls: list[Call] = field(default_factory=list)
    # While set, every call fails so.
    status: grpc.StatusCode | None = None
    trailing: tuple[tuple[str, str], ...] = ()
    # While set, calls of these methods wait for ever.
    hanging: frozenset[str] = frozenset()
    garbled: bool = False
    # Set by the first call that hangs.
    hung: asyncio.Event = field(default_factory=asyncio.Event)

    def of(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]


class Interceptor(grpc.aio.ServerInterceptor):
    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        handler = await continuation(details)
        name = details.method.rpartition("/")[2]

        async def handle(request: Any, context: Any) -> Any:
            behaviour = self.behaviour
            metadata = dict(details.invocation_metadata)
            behaviour.calls.append(Call(name, request, metadata, context.time_remaining()))
            if name in behaviour.hanging:
                behaviour.hung.set()
                await asyncio.Event().wait()
            if behaviour.status is not None:
                context.set_trailing_metadata(behaviour.trailing)
                await context.abort(behaviour.status, "secret text of the server")
            return await handler.unary_unary(request, context)

        def serialise(reply: Any) -> bytes:
            return b"\xff garbage" if self.behaviour.garbled else bytes(handler.response_serializer(reply))

        return grpc.unary_unary_rpc_method_handler(handle, handler.request_deserializer, serialise)


class Collections(wire.CollectionsServicer):
    def __init__(self, store: Store) -> None:
        self.store = store

    async def CollectionExists(self, request: Any, _context: Any) -> Any:
        return wire.CollectionExistsResponse(result=wire.CollectionExists(exists=self.store.created is not None))

    async def Create(self, request: Any, _context: Any) -> Any:
        self.store.create(request)
        return wire.CollectionOperationResponse(result=True)

    async def Get(self, request: Any, _context: Any) -> Any:
        created = self.store.created
        config = wire.CollectionConfig(
            params=wire.CollectionParams(vectors_config=created.vectors_config, shard_number=1, on_disk_payload=True),
            hnsw_config=wire.HnswConfigDiff(m=16, ef_construct=100, full_scan_threshold=10_000),
            optimizer_config=wire.OptimizersConfigDiff(
                deleted_threshold=0.2, vacuum_min_vector_number=1, default_segment_number=1, flush_interval_sec=5
            ),
            wal_config=wire.WalConfigDiff(wal_capacity_mb=32, wal_segments_ahead=0),
            metadata=created.metadata,
        )
        schema = {name: wire.PayloadSchemaInfo(data_type=kind) for name, kind in self.store.schema.items()}
        info = wire.CollectionInfo(
            status=wire.CollectionStatus.Green,
            optimizer_status=wire.OptimizerStatus(ok=True),
            segments_count=1,
            config=config,
            payload_schema=schema,
        )
        return wire.GetCollectionInfoResponse(result=info)


class Points(wire.PointsServicer):
    def __init__(self, store: Store) -> None:
        self.store = store

    async def CreateFieldIndex(self, request: Any, _context: Any) -> Any:
        kind, told = SCHEMAS[request.field_type]
        self.store.shard.update(edge.UpdateOperation.create_field_index(request.field_name, kind))
        self.store.schema[request.field_name] = told
        return wire.PointsOperationResponse(result=OK)

    async def Upsert(self, request: Any, _context: Any) -> Any:
        assert request.wait
        points = [
            edge.Point(
                point.id.uuid,
                list(point.vectors.vector.dense.data or point.vectors.vector.data),
                {key: value_to_json(value) for key, value in point.payload.items()},
            )
            for point in request.points
        ]
        self.store.shard.update(edge.UpdateOperation.upsert_points(points))
        return wire.PointsOperationResponse(result=OK)

    async def Delete(self, request: Any, _context: Any) -> Any:
        assert request.wait
        chosen = _filter(request.points.filter)
        self.store.shard.update(edge.UpdateOperation.delete_points_by_filter(chosen))
        return wire.PointsOperationResponse(result=OK)

    async def Query(self, request: Any, _context: Any) -> Any:
        found = self.store.shard.query(
            edge.QueryRequest(
                query=edge.Query.Nearest(list(request.query.nearest.dense.data)),
                filter=_filter(request.filter),
                limit=request.limit,
                score_threshold=request.score_threshold,
                with_payload=edge.PayloadSelector.Include(list(request.with_payload.include.fields)),
            )
        )
        points = [
            wire.ScoredPoint(id=wire.PointId(uuid=str(point.id)), score=point.score, payload=_payload(point.payload))
            for point in found
        ]
        return wire.QueryResponse(result=points)

    async def Scroll(self, request: Any, _context: Any) -> Any:
        fields = list(request.with_payload.include.fields)
        chosen = edge.ScrollRequest(
            filter=_filter(request.filter),
            limit=request.limit,
            with_payload=edge.PayloadSelector.Include(fields) if fields else True,
            with_vector=request.with_vectors.enable,
        )
        records, _ = self.store.shard.scroll(chosen)
        points = [
            wire.RetrievedPoint(
                id=wire.PointId(uuid=str(record.id)),
                payload=_payload(record.payload),
                vectors=_vectors(record.vector) if request.with_vectors.enable else None,
            )
            for record in records
        ]
        return wire.ScrollResponse(result=points)

    async def Count(self, request: Any, _context: Any) -> Any:
        count = self.store.shard.count(edge.CountRequest(filter=_filter(request.filter), exact=request.exact))
        return wire.CountResponse(result=wire.CountResult(count=count))

    async def Facet(self, request: Any, _context: Any) -> Any:
        chosen = edge.FacetRequest(
            key=request.key, limit=request.limit, exact=request.exact, filter=_filter(request.filter)
        )
        hits = [
            wire.FacetHit(value=wire.FacetValue(string_value=str(hit.value)), count=hit.count)
            for hit in self.store.shard.facet(chosen).hits
        ]
        return wire.FacetResponse(hits=hits)


class Store:
    """The one collection: how it was created, and the shard that holds it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.created: Any = None
        self.schema: dict[str, Any] = {}
        self.shard: Any = None

    def create(self, request: Any) -> None:
        size = request.vectors_config.params.size
        params = edge.EdgeVectorParams(size=size, distance=edge.Distance.Cosine)
        self.shard = edge.EdgeShard.create(str(self.folder), edge.EdgeConfig(vectors=params, max_search_threads=1))
        self.created = request

    def close(self) -> None:
        if self.shard is not None:
            self.shard.close()


def _payload(payload: Any) -> dict[str, Any]:
    return {key: json_to_value(value) for key, value in payload.items()}


def _vectors(vector: list[float]) -> Any:
    dense = wire.DenseVector(data=vector)
    return wire.VectorsOutput(vector=wire.VectorOutput(data=vector, dense=dense))


def _filter(sent: Any) -> edge.Filter:
    return edge.Filter(
        must=[_condition(each) for each in sent.must] or None, should=[_condition(each) for each in sent.should] or None
    )


def _condition(sent: Any) -> Any:
    kind = sent.WhichOneof("condition_one_of")
    if kind == "filter":
        return _filter(sent.filter)
    if kind == "has_id":
        return edge.HasIdCondition({each.uuid for each in sent.has_id.has_id})
    assert kind == "field"
    if sent.field.HasField("range"):
        bounds = {side.name: value for side, value in sent.field.range.ListFields()}
        # A bound of zero that was sent is present all the same.
        bounds |= {side: 0.0 for side in ("gte", "lt") if sent.field.range.HasField(side) and side not in bounds}
        return edge.FieldCondition(key=sent.field.key, range=edge.RangeFloat(**bounds))
    return edge.FieldCondition(key=sent.field.key, match=edge.MatchAny(any=list(sent.field.match.keywords.strings)))


@dataclass
class QdrantServer:
    """A running server: its port, what it does, what it holds. It can stop and come back on the same port."""

    store: Store
    behaviour: Behaviour
    port: int = 0
    _server: Any = None

    async def start(self) -> None:
        self._server = grpc.aio.server(interceptors=(Interceptor(self.behaviour),), options=[("grpc.so_reuseport", 0)])
        wire.add_CollectionsServicer_to_server(Collections(self.store), self._server)
        wire.add_PointsServicer_to_server(Points(self.store), self._server)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(None)


@asynccontextmanager
async def qdrant_server(folder: Path) -> AsyncIterator[QdrantServer]:
    """A server with an empty store; yields it listening."""
    server = QdrantServer(Store(folder / "shard"), Behaviour())
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
        server.store.close()
