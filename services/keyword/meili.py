"""The server engine: a Meilisearch index, reached through the blocking client its makers publish."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import StatsResponse
from lanemesh.v1.lane_pb2 import Filters
from meilisearch import Client
from meilisearch.models.task import TaskInfo

from services.keyword.engine import Found
from services.keyword.meili_documents import HASHED, PRIMARY_KEY, WHOLE, key_of, name_of, to_record
from services.keyword.meili_errors import KEY_REFUSED, translated
from services.keyword.meili_filters import any_of, opened_by
from services.keyword.meili_schema import prepare, settings_of
from services.keyword.meili_search import Answer, Question, found_in, question_of, together, widened, words_for
from services.keyword.meili_server import Access, MeiliServer, Work
from services.keyword.query import words_of
from services.runtime import deadline
from services.runtime.engine import operation
from services.runtime.errors import DeadlinePassed, LanemeshError, Refused, StartupError, Unavailable

# Of the time left after the first answer, so that it can still be given when the second does not come.
WIDENING_SHARE = 0.7
# What Meilisearch answers when the index or its settings are no longer those that were prepared.
_UNPREPARED = ("INDEX_NOT_FOUND", "INVALID_SEARCH_FILTER", "INVALID_SEARCH_FACETS", "INVALID_DOCUMENT_FILTER")

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class MeiliEngine:
    """One index of a Meilisearch server. Until the server can be reached, every call is Unavailable."""

    name = "meilisearch"

    def __init__(self, access: Access, index: str, *, readers: int, cutoff_ms: int, matching: str) -> None:
        self._reading = MeiliServer(access, readers)
        self._writing = MeiliServer(access, 1)
        self._index = index
        self._cutoff_ms = cutoff_ms
        self._matching = matching
        self._preparing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Prepares the index if the server is there; StartupError when it is there and cannot serve this lane."""
        try:
            await self._prepared()
        except LanemeshError as error:
            if (refusal := _refusal(error)) is not None:
                await self.close()
                raise refusal from error
            log.warning("not ready: %s", error.message)

    @operation
    async def search(self, query: str, filters: Filters, limit: int) -> Found:
        """The best documents for the question's words, typos forgiven, filters inside the query."""
        words = words_for(query)
        if not words:
            return Found((), 0, words_of(query))
        question = question_of(self._index, words, filters, limit, self._matching, self._cutoff_ms)
        answer = await self._ask(partial(together, question))
        if len(answer.records) < limit and len(words) > 1:
            answer = await self._widened(answer, question)
        with translated():
            return found_in(answer, words)

    async def upsert(self, documents: Sequence[Document]) -> None:
        """Stores the batch as one task and returns when that has succeeded."""
        newest = {document.id: document for document in documents}
        records = [to_record(document) for document in newest.values()]
        await self._change(lambda client: client.index(self._index).add_documents(records, PRIMARY_KEY))

    async def delete(self, ids: Sequence[str]) -> int:
        """Deletes by primary key; the task says how many there were."""
        if not ids:
            return 0
        keys = any_of(PRIMARY_KEY, map(key_of, ids))
        details = await self._change(lambda client: client.index(self._index).delete_documents(filter=keys))
        return int(details.get("deletedDocuments") or 0)

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts the documents the labels open, in all and by project."""
        return await self._ask(partial(self._stats, opened_by(access_labels)))

    async def check(self) -> None:
        """Asks the server for its health."""
        health = await self._ask(lambda client: client.health())
        if health.get("status") != "available":
            raise Unavailable("Meilisearch says that it is not available")

    async def close(self) -> None:
        """Waits for running calls."""
        if self._preparing is not None:
            self._preparing.cancel()
        await self._reading.close()
        await self._writing.close()

    async def _prepared(self) -> None:
        """Returns when the index is ready; the first to need it starts the work, and nobody's deadline ends it."""
        if self._preparing is None or (self._preparing.done() and not _succeeded(self._preparing)):
            work = prepare(self._writing, self._index, settings_of(self._cutoff_ms))
            self._preparing = asyncio.create_task(work, context=contextvars.Context())
            # Somebody has to look at an error that comes when all who waited have left.
            self._preparing.add_done_callback(_succeeded)
        try:
            await asyncio.shield(self._preparing)
        except StartupError as error:
            raise Unavailable(error.message) from error

    async def _widened(self, answer: Answer, question: Question) -> Answer:
        """More for a question whose words are not all in one place; what is there already is never lost to it."""
        until = deadline.current()
        try:
            async with asyncio.timeout(None if until is None else until.remaining() * WIDENING_SHARE):
                return await self._ask(partial(widened, answer, question))
        except (TimeoutError, DeadlinePassed):
            return replace(answer, cut_short=True)

    async def _ask(self, work: Work[Result]) -> Result:
        return await self._unless_lost(self._reading.run(work))

    async def _change(self, enqueue: Work[TaskInfo]) -> dict[str, Any]:
        task = await self._unless_lost(self._writing.finish(enqueue))
        return task.details or {}

    async def _unless_lost(self, call: Coroutine[Any, Any, Result]) -> Result:
        """The result of a call on a prepared index; one that has gone is prepared again for the next call."""
        try:
            await self._prepared()
            return await call
        except LanemeshError as error:
            if error.reason in _UNPREPARED:
                self._preparing = None
            raise
        finally:
            call.close()

    def _stats(self, opened: str, client: Client) -> StatsResponse:
        reply = client.index(self._index).search("", {"filter": opened, "limit": 0, "facets": ["project"]})
        projects = reply["facetDistribution"].get("project", {})
        return StatsResponse(
            documents=reply["estimatedTotalHits"],
            documents_by_project={self._project(key, client): count for key, count in projects.items()},
            engine=self.name,
        )

    def _project(self, exactly: str, client: Client) -> str:
        """The name of a project; one that is stored as a hash is read from one of its documents."""
        if not exactly.startswith(HASHED):
            return name_of(exactly)
        question = {"filter": f'project = "{exactly}"', "limit": 1, "fields": [WHOLE]}
        (found,) = client.index(self._index).get_documents(question).results
        return str(getattr(found, WHOLE)["project"])


def _refusal(error: LanemeshError) -> StartupError | None:
    """What only the operator can mend."""
    if isinstance(error.__cause__, StartupError):
        return error.__cause__
    if isinstance(error, Refused) or error.reason in KEY_REFUSED:
        return StartupError(f"{error.message}: {error.reason}")
    return None


def _succeeded(task: asyncio.Task[None]) -> bool:
    return not task.cancelled() and task.exception() is None
