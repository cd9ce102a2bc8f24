"""The keyword lane: checks what it is given, asks its engine, and turns hits into evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lanemesh.v1.index_pb2 import DeleteRequest, RecordFailure, StatsResponse, UpsertRequest
from lanemesh.v1.lane_pb2 import (
    LANE_STATUS_PARTIAL,
    LANE_STATUS_TIMEOUT,
    Filters,
    RetrieveRequest,
    RetrieveResponse,
)

from services.keyword.engine import Engine, Found
from services.keyword.sqlite_fts import SqliteEngine
from services.runtime.errors import StartupError
from services.runtime.settings import load, setting

WORDS_IN_MESSAGE = 12


@dataclass(frozen=True, slots=True)
class KeywordSettings:
    """Which engine: a Meilisearch server when its URL is given, else an index embedded in this process."""

    home: Path = setting("LANEMESH_HOME", Path("~/.lanemesh").expanduser())
    readers: int = setting("LANEMESH_KEYWORD_READERS", 4, low=1, high=32)
    count_limit: int = setting("LANEMESH_KEYWORD_COUNT_LIMIT", 1_000, low=1, high=1_000_000)
    lock_wait_ms: int = setting("LANEMESH_KEYWORD_LOCK_WAIT_MS", 1_000, low=0, high=60_000)
    url: str = setting("MEILI_URL", "")
    key: str | None = setting("MEILI_API_KEY", None)
    index: str = setting("MEILI_INDEX", "sarvanom_documents")
    matching: Literal["last", "frequency", "all"] = setting("MEILI_MATCHING_STRATEGY", "frequency")
    # Below the lane's smallest usual budget, so that the server gives up before its caller does.
    cutoff_ms: int = setting("MEILI_CUTOFF_MS", 400, low=10, high=60_000)
    call_ms: int = setting("MEILI_CALL_MS", 5_000, low=10, high=600_000)
    task_ms: int = setting("MEILI_TASK_MS", 120_000, low=10, high=3_600_000)
    poll_ms: int = setting("MEILI_POLL_MS", 25, low=1, high=10_000)


class KeywordLane:
    """Finds documents by their words."""

    keeps = frozenset({"document"})

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """Fills the reply with the best matching documents, or says what was looked for in vain."""
        found = await self._engine.search(request.query, request.filters, request.max_results)
        reply.engine = self._engine.name
        reply.total_found = max(found.total, len(found.hits))
        for hit in found.hits:
            evidence = reply.evidence.add(score=hit.score, kind="document", passage=hit.passage)
            evidence.document.CopyFrom(hit.document)
        if found.cut_short:
            reply.status = LANE_STATUS_PARTIAL if found.hits else LANE_STATUS_TIMEOUT
            reply.reason = "DEADLINE_EXCEEDED"
            reply.message = f"{self._engine.name} stopped at its own time limit after {len(found.hits)} results"
        elif not found.hits:
            reply.reason = "NO_MATCH"
            reply.message = _in_vain(found, request.filters)

    async def upsert(self, records: Sequence[UpsertRequest]) -> Sequence[RecordFailure]:
        """Stores the documents of a batch in one transaction."""
        await self._engine.upsert([record.document for record in records])
        return []

    async def delete(self, request: DeleteRequest) -> int:
        """Deletes documents by id; returns how many existed."""
        return await self._engine.delete(request.document_ids)

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts the documents these labels open."""
        return await self._engine.stats(access_labels)

    async def check(self) -> None:
        """Returns when a search would be answered now."""
        await self._engine.check()

    async def close(self) -> None:
        """Closes the engine."""
        await self._engine.close()


async def open_lane(environment: Mapping[str, str]) -> KeywordLane:
    """The lane over its engine, whose index is created on first use."""
    settings = load(KeywordSettings, environment)
    return KeywordLane(await (_server(settings) if settings.url else _embedded(settings)))


async def _embedded(settings: KeywordSettings) -> Engine:
    path = settings.home / "data" / "keyword.sqlite3"
    return await SqliteEngine.open(
        path, readers=settings.readers, count_limit=settings.count_limit, lock_wait=settings.lock_wait_ms / 1_000
    )


async def _server(settings: KeywordSettings) -> Engine:
    # The client and all it brings cost time and memory that a lane without a server need not spend.
    from services.keyword.meili import MeiliEngine
    from services.keyword.meili_server import Access

    if not settings.url.startswith(("http://", "https://")):
        raise StartupError("MEILI_URL must begin with http:// or https://")
    seconds = (settings.call_ms / 1_000, settings.task_ms / 1_000, settings.poll_ms / 1_000)
    access = Access(settings.url.rstrip("/"), settings.key, *seconds)
    engine = MeiliEngine(
        access, settings.index, readers=settings.readers, cutoff_ms=settings.cutoff_ms, matching=settings.matching
    )
    await engine.start()
    return engine


def _in_vain(found: Found, filters: Filters) -> str:
    if not found.words:
        return "The query holds no word to look for."
    words = ", ".join(found.words[:WORDS_IN_MESSAGE]) + (", …" if len(found.words) > WORDS_IN_MESSAGE else "")
    narrowed = [field.name for field, _ in filters.ListFields() if field.name != "access_labels"]
    within = f" within the filters {', '.join(narrowed)}" if narrowed else ""
    return f"No document contains any of: {words}{within}."
