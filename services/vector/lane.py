"""The vector lane: embeds questions and chunks, asks its engine, and turns what is near into evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, RecordFailure, StatsResponse, UpsertRequest
from lanemesh.v1.lane_pb2 import Filters, RetrieveRequest, RetrieveResponse

from services.embedding.choose import open_embedder
from services.embedding.embedder import Embedder
from services.embedding.models import Model
from services.runtime.settings import load, setting
from services.vector.alike import alike
from services.vector.chunks import chunks_of
from services.vector.conditions import conditions_of
from services.vector.engine import Engine, Stored
from services.vector.payload import COLLECTION, to_payloads
from services.vector.search import NOTHING, Found, search

ACADEMIC = ["academic"]


@dataclass(frozen=True, slots=True)
class VectorSettings:
    """Where the vectors live: in a folder, or on the Qdrant server of the URL."""

    home: Path = setting("LANEMESH_HOME", Path("~/.lanemesh").expanduser())
    quantisation: Literal["none", "int8"] = setting("LANEMESH_VECTOR_QUANTISATION", "none")
    url: str | None = setting("QDRANT_URL", None)
    key: str | None = setting("QDRANT_API_KEY", None)
    grpc_port: int = setting("QDRANT_GRPC_PORT", 6334, low=1, high=65_535)
    time_out_ms: int = setting("QDRANT_TIMEOUT_MS", 10_000, low=1, high=600_000)


class VectorLane:
    """Finds documents by meaning."""

    keeps = frozenset({"document"})

    def __init__(self, engine: Engine, embedder: Embedder) -> None:
        self._engine = engine
        self._embedder = embedder

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """Fills the reply with the nearest documents, or says how near a document would have had to be."""
        reply.engine = self._engine.name
        threshold = _threshold(self._embedder.model, request.filters)
        vector = await self._embedder.embed_query(request.query)
        conditions = conditions_of(request.filters)
        found = NOTHING
        async for found in search(self._engine, vector, conditions, request.max_results, threshold):
            _fill(reply, found, request.filters.projects)
        await self._compare(found, reply)
        if not reply.evidence:
            reply.reason = "NO_MATCH"
            reply.message = _in_vain(self._embedder.model, threshold, request.filters)

    async def upsert(self, records: Sequence[UpsertRequest]) -> Sequence[RecordFailure]:
        """Stores the documents of a batch; of several with one id the last stands."""
        newest = {record.document.id: record.document for record in records}
        await self._engine.upsert(await self._embedded(list(newest.values())))
        return []

    async def delete(self, request: DeleteRequest) -> int:
        """Deletes documents by id; returns how many existed."""
        ids = list(dict.fromkeys(request.document_ids))
        return await self._engine.delete(ids) if ids else 0

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts the documents and chunks these labels open."""
        return await self._engine.stats(access_labels)

    async def check(self) -> None:
        """Returns when a search would be answered now."""
        await self._engine.check()

    async def close(self) -> None:
        """Closes engine and embedder."""
        await self._engine.close()
        await self._embedder.close()

    async def _compare(self, found: Found, reply: RetrieveResponse) -> None:
        """Names the hits whose best passages mean the same; they are found without it, so it comes last."""
        if len(found.hits) < 2:
            return
        vectors = await self._engine.vectors({hit.document.id: hit.chunk for hit in found.hits})
        same = alike(vectors, self._embedder.model.duplicate)
        for evidence in reply.evidence:
            evidence.near_duplicates.extend(same.get(evidence.document.id, ()))

    async def _embedded(self, documents: Sequence[Document]) -> list[Stored]:
        length = self._embedder.model.passage
        chunks = await asyncio.to_thread(lambda: [chunks_of(document, length) for document in documents])
        vectors = await self._embedder.embed_passages([chunk.text for each in chunks for chunk in each])
        stored: list[Stored] = []
        first = 0
        for document, its in zip(documents, chunks, strict=True):
            stored.append(Stored(document.id, to_payloads(document, its), vectors[first : first + len(its)]))
            first += len(its)
        return stored


async def open_lane(environment: Mapping[str, str]) -> VectorLane:
    """The lane over the Qdrant server that QDRANT_URL names, else over its embedded collection."""
    settings = load(VectorSettings, environment)
    embedder = await open_embedder(environment)
    return VectorLane(await _open_engine(settings, embedder.model), embedder)


def folder_of(settings: VectorSettings) -> Path:
    """Where the embedded collection is."""
    return settings.home / "data" / "vector" / COLLECTION


async def _open_engine(settings: VectorSettings, model: Model) -> Engine:
    # Either engine's library is large; a process loads that of its own.
    if settings.url is None:
        from services.vector.qdrant_edge import EdgeEngine

        return await EdgeEngine.open(folder_of(settings), model, quantised=settings.quantisation == "int8")
    from services.vector.qdrant import QdrantEngine

    return await QdrantEngine.open(
        settings.url,
        settings.key,
        model,
        grpc_port=settings.grpc_port,
        time_out=settings.time_out_ms / 1_000,
        quantised=settings.quantisation == "int8",
    )


def _threshold(model: Model, filters: Filters) -> float:
    return model.relevant_academic if list(filters.sources) == ACADEMIC else model.relevant


def _fill(reply: RetrieveResponse, found: Found, scope: Sequence[str]) -> None:
    """Makes the reply say what was found so far."""
    del reply.evidence[:]
    reply.total_found = found.total
    for hit in found.hits:
        passage, *others = hit.passages
        evidence = reply.evidence.add(
            score=hit.score, kind="document", passage=passage, other_passages=others, scope=scope
        )
        evidence.document.CopyFrom(hit.document)


def _in_vain(model: Model, threshold: float, filters: Filters) -> str:
    narrowed = [field.name for field, _ in filters.ListFields() if field.name != "access_labels"]
    within = f" within the filters {', '.join(narrowed)}" if narrowed else ""
    return f"No document{within} is near the question: none has a cosine of {threshold:g} or more by {model.name}."
