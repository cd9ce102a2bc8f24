"""Vector lanes on every engine: embedded, the client against a local server, a real server when there is one."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import UpsertRequest
from lanemesh.v1.lane_pb2 import Filters, RetrieveRequest, RetrieveResponse
from qdrant_client import AsyncQdrantClient

from services.embedding.embedder import Rows
from services.embedding.models import Model
from services.vector.engine import Engine
from services.vector.lane import VectorLane
from services.vector.payload import COLLECTION
from services.vector.qdrant import QdrantEngine
from services.vector.qdrant_edge import EdgeEngine
from tests.vector.qdrant_server import QdrantServer, qdrant_server

KINDS = ("edge", "server", "real")
WORDS = Model("words", 64, passage=40, relevant=0.3, relevant_academic=0.6, duplicate=0.9)


class WordEmbedder:
    """Texts with the same words have the same vector."""

    def __init__(self, model: Model = WORDS) -> None:
        self.model = model

    async def embed_query(self, text: str) -> Rows:
        return (await self.embed_passages([text]))[0]

    async def embed_passages(self, texts: Sequence[str]) -> Rows:
        rows = np.zeros((len(texts), self.model.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = 0.01
            for word in re.findall(r"\w+", text.lower()):
                row[1 + zlib.crc32(word.encode()) % (self.model.dimension - 1)] += 1.0
            row /= np.linalg.norm(row)
        return rows

    async def close(self) -> None:
        return None


async def server_engine(server: QdrantServer, model: Model = WORDS, **changes: Any) -> Engine:
    options = {"grpc_port": server.port, "time_out": 10.0, "quantised": False, "key": None} | changes
    # The REST port is never called: port 1 is bound by nobody.
    return await QdrantEngine.open("http://127.0.0.1:1", model=model, **options)


@asynccontextmanager
async def _engine(kind: str, folder: Path) -> AsyncIterator[Engine]:
    if kind == "edge":
        yield await EdgeEngine.open(folder / "collection", WORDS, quantised=False)
    elif kind == "server":
        async with qdrant_server(folder) as server:
            yield await server_engine(server)
    else:
        async with _real_server() as (url, key):
            port = int(os.environ.get("QDRANT_GRPC_PORT", "6334"))
            yield await QdrantEngine.open(url, key, WORDS, grpc_port=port, time_out=10.0, quantised=False)


@asynccontextmanager
async def _real_server() -> AsyncIterator[tuple[str, str | None]]:
    """The server of QDRANT_URL, unless it has the collection: nobody's data is touched. What is made is dropped."""
    url, key = os.environ.get("QDRANT_URL"), os.environ.get("QDRANT_API_KEY")
    if url is None:
        pytest.skip("QDRANT_URL names no server")
    client = AsyncQdrantClient(url=url, headers={"api-key": key} if key else None, check_compatibility=False)
    if await client.collection_exists(COLLECTION):
        pytest.skip(f"the server already has a collection {COLLECTION}")
    try:
        yield url, key
    finally:
        await client.delete_collection(COLLECTION)
        await client.close()


@asynccontextmanager
async def lane_on(kind: str, folder: Path) -> AsyncIterator[VectorLane]:
    """A lane over an empty collection."""
    async with _engine(kind, folder) as engine:
        lane = VectorLane(engine, WordEmbedder())
        try:
            yield lane
        finally:
            await lane.close()


async def store(lane: VectorLane, *documents: Document) -> None:
    records = [UpsertRequest(sequence=number, document=each) for number, each in enumerate(documents, start=1)]
    assert not await lane.upsert(records)


async def search(lane: VectorLane, query: str, max_results: int = 10, **filters: Any) -> RetrieveResponse:
    reply = RetrieveResponse()
    request = RetrieveRequest(query=query, max_results=max_results, filters=Filters(**filters))
    await lane.retrieve(request, reply)
    return reply


async def found(lane: VectorLane, query: str, **filters: Any) -> set[str]:
    return {evidence.document.id for evidence in (await search(lane, query, 100, **filters)).evidence}
