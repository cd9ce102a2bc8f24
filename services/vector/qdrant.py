"""The engine of a cluster: a Qdrant server, over gRPC. It may be away at the start and come and go later."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from lanemesh.v1.index_pb2 import StatsResponse
from qdrant_client import AsyncQdrantClient, models

from services.embedding.embedder import Rows
from services.embedding.models import Model
from services.runtime import deadline
from services.runtime.deadline import Deadline
from services.runtime.engine import operation
from services.runtime.errors import LanemeshError, StartupError
from services.vector.conditions import FIRST, AnyOf, Condition, beyond, opened_by
from services.vector.engine import Match, Stored, plain, slices
from services.vector.payload import CHUNK_FIELDS, COLLECTION, Payload, point_id
from services.vector.qdrant_collection import prepare
from services.vector.qdrant_errors import translated
from services.vector.qdrant_filters import filter_of

Result = TypeVar("Result")
Call = Callable[..., Awaitable[Result]]

# Points of one request, and documents of one deletion.
WRITTEN_AT_ONCE = 128
DELETED_AT_ONCE = 500
MOST_PROJECTS = 100_000
# A server that came back is found again within half a second.
CHANNEL = {
    "grpc.initial_reconnect_backoff_ms": 50,
    "grpc.max_reconnect_backoff_ms": 500,
    "grpc.max_receive_message_length": 64 * 1024 * 1024,
}

log = logging.getLogger(__name__)


class QdrantEngine:
    """One collection of a server. The collection is made or compared before its first use, whenever that is."""

    name = "qdrant"

    def __init__(self, client: AsyncQdrantClient, model: Model, *, time_out: float, quantised: bool) -> None:
        self._client = client
        self._model = model
        self._time_out = time_out
        self._quantised = quantised
        self._prepared = False
        self._preparing = asyncio.Lock()

    @classmethod
    async def open(
        cls, url: str, key: str | None, model: Model, *, grpc_port: int, time_out: float, quantised: bool
    ) -> QdrantEngine:
        """The engine; StartupError when the collection is of another model. A server that is away is no reason."""
        try:
            client = AsyncQdrantClient(
                url=url,
                grpc_port=grpc_port,
                prefer_grpc=True,
                headers={"api-key": key} if key else None,
                grpc_options=dict(CHANNEL),
                pool_size=1,
                check_compatibility=False,
            )
        except ValueError as error:
            raise StartupError(f"QDRANT_URL={url}: {error}") from error
        engine = cls(client, model, time_out=time_out, quantised=quantised)
        await engine._try_to_prepare()
        return engine

    @operation
    async def nearest(
        self, vector: Rows, conditions: Sequence[Condition], limit: int, threshold: float
    ) -> Sequence[Match]:
        """One search, filters inside it."""
        reply = await self._call(
            self._client.query_points,
            query=vector.tolist(),
            query_filter=filter_of(conditions),
            limit=limit,
            score_threshold=threshold,
            with_payload=list(CHUNK_FIELDS),
        )
        return [Match(**(point.payload or {}), score=point.score) for point in reply.points]

    @operation
    async def documents(self, ids: Sequence[str], conditions: Sequence[Condition]) -> Mapping[str, Payload]:
        """One look-up by identity, filters inside it."""
        chosen = models.HasIdCondition(has_id=[point_id(identity, 0) for identity in ids])
        records, _ = await self._call(
            self._client.scroll, scroll_filter=filter_of(conditions, chosen), limit=len(ids), with_payload=True
        )
        return {payload["document"]: payload for record in records if (payload := record.payload)}

    async def vectors(self, chunks: Mapping[str, int]) -> Mapping[str, Sequence[float]]:
        """One look-up by identity."""
        chosen = models.HasIdCondition(has_id=[point_id(document, number) for document, number in chunks.items()])
        records, _ = await self._call(
            self._client.scroll,
            scroll_filter=filter_of((), chosen),
            limit=len(chunks),
            with_payload=["document"],
            with_vectors=True,
        )
        return {payload["document"]: plain(record.vector) for record in records if (payload := record.payload)}

    async def upsert(self, documents: Sequence[Stored]) -> None:
        """Stores them request by request, each acknowledged when the server has it on disk."""
        for points in slices(documents, WRITTEN_AT_ONCE):
            batch = [models.PointStruct(id=identity, vector=vector, payload=load) for identity, vector, load in points]
            await self._call(self._client.upsert, points=batch, wait=True)
        for start in range(0, len(documents), DELETED_AT_ONCE):
            some = documents[start : start + DELETED_AT_ONCE]
            left = models.Filter(should=[filter_of(beyond(each.id, len(each.payloads))) for each in some])
            await self._call(self._client.delete, points_selector=models.FilterSelector(filter=left), wait=True)

    async def delete(self, ids: Sequence[str]) -> int:
        """Deletes all chunks of the documents."""
        deleted = 0
        for start in range(0, len(ids), DELETED_AT_ONCE):
            chosen = AnyOf("document", tuple(ids[start : start + DELETED_AT_ONCE]))
            deleted += await self._count((chosen, FIRST))
            selector = models.FilterSelector(filter=filter_of((chosen,)))
            await self._call(self._client.delete, points_selector=selector, wait=True)
        return deleted

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts the documents and chunks the labels open, documents by project as well."""
        opened = opened_by(access_labels)
        facet = await self._call(
            self._client.facet,
            key="project",
            facet_filter=filter_of((*opened, FIRST)),
            limit=MOST_PROJECTS,
            exact=True,
        )
        projects = {str(hit.value): hit.count for hit in facet.hits}
        return StatsResponse(
            documents=sum(projects.values()),
            chunks=await self._count(opened),
            documents_by_project=projects,
            engine=self.name,
        )

    async def check(self) -> None:
        """Asks for a count, which needs the server and the collection."""
        await self._count((AnyOf("document", ("",)),))

    async def close(self) -> None:
        """Closes the connection."""
        await self._client.close()

    async def _count(self, conditions: Sequence[Condition]) -> int:
        counted = await self._call(self._client.count, count_filter=filter_of(conditions), exact=True)
        return int(counted.count)

    async def _call(self, method: Call[Result], **arguments: Any) -> Result:
        """One request to the collection, within the time that is left."""
        until = deadline.current() or Deadline.after(self._time_out)
        with translated():
            async with asyncio.timeout(until.require()):
                await self._prepare()
                # The server counts whole seconds; the time-out around the call keeps the rest.
                return await method(COLLECTION, timeout=math.ceil(until.remaining()), **arguments)

    async def _prepare(self) -> None:
        if not self._prepared:
            async with self._preparing:
                if not self._prepared:
                    await prepare(self._client, self._model, quantised=self._quantised)
                    self._prepared = True

    async def _try_to_prepare(self) -> None:
        try:
            await self.check()
        except StartupError:
            await self.close()
            raise
        except LanemeshError as error:
            log.warning("not ready: %s", error.message)
