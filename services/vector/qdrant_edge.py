"""The embedded engine: Qdrant's own core inside the process, its collection in one folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import qdrant_edge as edge
from lanemesh.v1.index_pb2 import StatsResponse

from services.embedding.embedder import Rows
from services.embedding.models import Model
from services.runtime import deadline
from services.runtime.engine import operation
from services.vector.conditions import FIRST, AnyOf, Condition, beyond, opened_by
from services.vector.edge_errors import translated
from services.vector.edge_filters import filter_of
from services.vector.edge_shard import open_shard, size_of
from services.vector.engine import Match, Stored, plain, slices
from services.vector.payload import CHUNK_FIELDS, Payload, point_id

Result = TypeVar("Result")

# Points written by one call. The library keeps Python's lock during a call, about a millisecond for so many.
WRITTEN_AT_ONCE = 16
# Documents deleted by one call.
DELETED_AT_ONCE = 100
MOST_PROJECTS = 100_000


class EdgeEngine:
    """A collection for one lane process. All calls run in one thread, each of them short."""

    name = "qdrant-edge"

    def __init__(self, folder: Path, shard: edge.EdgeShard) -> None:
        self._folder = folder
        self._shard = shard
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vectors")

    @classmethod
    async def open(cls, folder: Path, model: Model, *, quantised: bool) -> EdgeEngine:
        """Opens the collection, creating it on first use; StartupError when it cannot be used."""
        return cls(folder, await asyncio.to_thread(open_shard, folder, model, quantised))

    @operation
    async def nearest(
        self, vector: Rows, conditions: Sequence[Condition], limit: int, threshold: float
    ) -> Sequence[Match]:
        """One search, filters inside it."""
        request = edge.QueryRequest(
            query=edge.Query.Nearest(vector.tolist()),
            filter=filter_of(conditions),
            limit=limit,
            score_threshold=threshold,
            with_payload=edge.PayloadSelector.Include(list(CHUNK_FIELDS)),
        )
        points = await self._run(lambda: self._shard.query(request))
        return [Match(**(point.payload or {}), score=point.score) for point in points]

    @operation
    async def documents(self, ids: Sequence[str], conditions: Sequence[Condition]) -> Mapping[str, Payload]:
        """One look-up by identity, filters inside it."""
        chosen = edge.HasIdCondition({point_id(identity, 0) for identity in ids})
        request = edge.ScrollRequest(filter=filter_of(conditions, chosen), limit=len(ids), with_payload=True)
        records, _ = await self._run(lambda: self._shard.scroll(request))
        return {payload["document"]: payload for record in records if (payload := record.payload)}

    async def vectors(self, chunks: Mapping[str, int]) -> Mapping[str, Sequence[float]]:
        """One look-up by identity."""
        chosen = edge.HasIdCondition({point_id(document, number) for document, number in chunks.items()})
        request = edge.ScrollRequest(
            filter=filter_of((), chosen),
            limit=len(chunks),
            with_payload=edge.PayloadSelector.Include(["document"]),
            with_vector=True,
        )
        records, _ = await self._run(lambda: self._shard.scroll(request))
        return {payload["document"]: plain(record.vector) for record in records if (payload := record.payload)}

    async def upsert(self, documents: Sequence[Stored]) -> None:
        """Stores them call by call, so that searches get their turn; on disk before it returns."""
        for points in slices(documents, WRITTEN_AT_ONCE):
            await self._update(edge.UpdateOperation.upsert_points([edge.Point(*point) for point in points]))
        for start in range(0, len(documents), DELETED_AT_ONCE):
            some = documents[start : start + DELETED_AT_ONCE]
            await self._delete(edge.Filter(should=[filter_of(beyond(each.id, len(each.payloads))) for each in some]))
        await self._run(self._shard.flush)

    async def delete(self, ids: Sequence[str]) -> int:
        """Deletes all chunks of the documents."""
        deleted = 0
        for start in range(0, len(ids), DELETED_AT_ONCE):
            chosen = AnyOf("document", tuple(ids[start : start + DELETED_AT_ONCE]))
            deleted += await self._count((chosen, FIRST))
            await self._delete(filter_of((chosen,)))
        await self._run(self._shard.flush)
        return deleted

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts the documents and chunks the labels open, documents by project as well."""
        opened = opened_by(access_labels)
        request = edge.FacetRequest(key="project", limit=MOST_PROJECTS, exact=True, filter=filter_of((*opened, FIRST)))
        projects = {str(hit.value): hit.count for hit in (await self._run(lambda: self._shard.facet(request))).hits}
        return StatsResponse(
            documents=sum(projects.values()),
            chunks=await self._count(opened),
            documents_by_project=projects,
            engine=self.name,
            size_bytes=float(await self._run(lambda: size_of(self._folder))),
        )

    async def check(self) -> None:
        """Counts one kind of point, which reads an index."""
        await self._count((AnyOf("document", ("",)),))

    async def close(self) -> None:
        """Waits for running calls and closes the files."""
        await self._run(self._shard.close)
        await asyncio.to_thread(self._thread.shutdown)

    async def _count(self, conditions: Sequence[Condition]) -> int:
        request = edge.CountRequest(filter=filter_of(conditions), exact=True)
        return await self._run(lambda: self._shard.count(request))

    async def _delete(self, chosen: edge.Filter) -> None:
        await self._update(edge.UpdateOperation.delete_points_by_filter(chosen))

    async def _update(self, operation: edge.UpdateOperation) -> None:
        await self._run(lambda: self._shard.update(operation))

    async def _run(self, call: Callable[[], Result]) -> Result:
        until = deadline.current()
        if until is not None:
            until.require()
        with translated():
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
