"""Ingestion into every index lane at once: a record is acknowledged when each lane that keeps its kind has stored it.

The stream is cut into segments of equal work, stores or deletions, so that the order of the sender is kept. The
sender is read no faster than the slowest lane stores.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc
from lanemesh.v1.index_pb2 import DeleteRequest, RecordFailure, UpsertRequest, UpsertResponse
from lanemesh.v1.index_pb2_grpc import IndexServiceStub
from lanemesh.v1.search_pb2 import IngestRequest, IngestResponse, LaneIngestion

from services.runtime import records, telemetry
from services.runtime.clients import Peers, call, wire_time_out
from services.runtime.deadline import Deadline
from services.runtime.errors import BadReply, DeadlinePassed, InvalidRequest, LanemeshError, from_status
from services.runtime.registry import LaneRow, Table

if TYPE_CHECKING:
    from lanemesh.v1.index_pb2_grpc import IndexServiceAsyncStub

# Records under way to one lane: enough to keep it busy, few enough to bound memory.
QUEUE_RECORDS = 64
DELETE_BATCH = 1_000


class LaneFeed:
    """One open Upsert stream to one lane. After a failure it swallows records instead of blocking the others."""

    def __init__(self, row: LaneRow, stub: IndexServiceAsyncStub, deadline: Deadline) -> None:
        self.row = row
        self.lines: dict[int, int] = {}
        self.error: LanemeshError | None = None
        self._queue: asyncio.Queue[UpsertRequest | None] = asyncio.Queue(QUEUE_RECORDS)
        self._task = asyncio.ensure_future(self._run(stub, deadline))

    async def put(self, line: int, record: UpsertRequest) -> None:
        """Waits until the lane has room."""
        self.lines[record.sequence] = line
        await self._offer(record)

    async def finish(self) -> UpsertResponse:
        """Ends the stream; the reply is empty when the lane failed, and `error` says why."""
        await self._offer(None)
        return await self._task

    def cancel(self) -> None:
        """Gives the stream up."""
        self._task.cancel()
        # A call that has already failed leaves its reader of the queue behind; this lets it end.
        with suppress(asyncio.QueueFull):
            self._queue.put_nowait(None)

    async def _offer(self, record: UpsertRequest | None) -> None:
        putting = asyncio.ensure_future(self._queue.put(record))
        try:
            await asyncio.wait({putting, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            putting.cancel()

    async def _records(self) -> AsyncIterator[UpsertRequest]:
        while (record := await self._queue.get()) is not None:
            yield record

    async def _run(self, stub: IndexServiceAsyncStub, deadline: Deadline) -> UpsertResponse:
        try:
            left = deadline.require()
            async with asyncio.timeout(left):
                reply = await stub.Upsert(self._records(), timeout=wire_time_out(left), metadata=telemetry.outgoing())
            if reply is None:
                raise BadReply("the reply does not parse")
            return reply
        except grpc.aio.AioRpcError as error:
            self.error = from_status(error)
        except TimeoutError:
            self.error = DeadlinePassed("the lane did not store the records before the deadline")
        except LanemeshError as error:
            self.error = error
        return UpsertResponse()


@dataclass
class Tally:
    """What became of the records so far."""

    response: IngestResponse = field(default_factory=IngestResponse)
    lanes: dict[str, LaneIngestion] = field(default_factory=dict)

    def refuse(self, line: int, identity: str, error: InvalidRequest) -> None:
        """A record that no lane was asked to store."""
        self.response.failures.append(
            RecordFailure(sequence=line, id=identity, field=error.field, reason=error.reason, message=error.description)
        )

    def finished(self) -> IngestResponse:
        """The reply."""
        self.response.lanes.extend(self.lanes.values())
        return self.response


class Ingestion:
    """One Ingest call."""

    def __init__(self, table: Table, peers: Peers, deadline: Deadline) -> None:
        self._rows = table.indexed()
        self._stubs = {row.name: IndexServiceStub(peers.channel(row.name)) for row in self._rows}
        self._deadline = deadline
        self._tally = Tally(lanes={row.name: LaneIngestion(lane=row.name) for row in self._rows})
        self._feeds: dict[str, LaneFeed] = {}
        self._deletions: list[tuple[str, str]] = []
        self._sequence = 0

    async def run(self, stream: AsyncIterator[IngestRequest]) -> IngestResponse:
        """Reads the stream to its end and accounts for every record."""
        try:
            async for request in stream:
                await self._take(request)
            await self._flush()
        finally:
            for feed in self._feeds.values():
                feed.cancel()
        return self._tally.finished()

    async def _take(self, request: IngestRequest) -> None:
        self._tally.response.received += 1
        line = request.line or self._tally.response.received
        kind = request.WhichOneof("record")
        if kind in ("delete_document_id", "delete_entity_id"):
            await self._delete(line, kind.split("_")[1], getattr(request, kind))
        elif kind is None:
            self._tally.refuse(line, "", InvalidRequest("record", "is missing"))
        else:
            await self._store(line, kind, request)

    async def _store(self, line: int, kind: str, request: IngestRequest) -> None:
        record = getattr(request, kind)
        try:
            records.check(record)
        except InvalidRequest as error:
            self._tally.refuse(line, records.identity(record), error)
            return
        if self._deletions:
            await self._flush()
        keepers = [row for row in self._rows if kind in row.keeps]
        if not keepers:
            self._tally.response.unkept += 1
            return
        self._sequence += 1
        question = UpsertRequest(sequence=self._sequence)
        getattr(question, kind).CopyFrom(record)
        await asyncio.gather(*(self._feed(row).put(line, question) for row in keepers))

    async def _delete(self, line: int, kind: str, identity: str) -> None:
        if not identity:
            self._tally.refuse(line, "", InvalidRequest(f"delete_{kind}_id", "must not be empty"))
            return
        if self._feeds:
            await self._flush()
        if not any(kind in row.keeps for row in self._rows):
            self._tally.response.unkept += 1
            return
        self._deletions.append((kind, identity))
        if len(self._deletions) >= DELETE_BATCH:
            await self._flush()

    def _feed(self, row: LaneRow) -> LaneFeed:
        if row.name not in self._feeds:
            self._feeds[row.name] = LaneFeed(row, self._stubs[row.name], self._deadline)
        return self._feeds[row.name]

    async def _flush(self) -> None:
        await self._finish_stores()
        await self._finish_deletions()

    async def _finish_stores(self) -> None:
        # They stay in place until they have ended, so that a cancelled call still gives them up.
        replies = await asyncio.gather(*(feed.finish() for feed in self._feeds.values()))
        feeds, self._feeds = self._feeds, {}
        sent: set[int] = set()
        lost: set[int] = set()
        for feed, reply in zip(feeds.values(), replies, strict=True):
            sent.update(feed.lines)
            lost.update(self._account(feed, reply))
        self._tally.response.acknowledged += len(sent - lost)

    def _account(self, feed: LaneFeed, reply: UpsertResponse) -> set[int]:
        """Adds one lane's reply to the tally; returns the sequences it did not store."""
        account = self._tally.lanes[feed.row.name]
        if feed.error is not None:
            account.error = feed.error.reason
            return set(feed.lines)
        account.stored += reply.stored
        account.ignored += reply.ignored
        for failure in reply.failures:
            entry = self._tally.response.failures.add()
            entry.CopyFrom(failure)
            entry.sequence = feed.lines.get(failure.sequence, failure.sequence)
            entry.lane = feed.row.name
        refused = {failure.sequence for failure in reply.failures}
        if reply.stored + len(refused) != len(feed.lines):
            # The lane left some out without naming them: none of them can be vouched for.
            account.error = BadReply.reason
            return set(feed.lines)
        return refused

    async def _finish_deletions(self) -> None:
        deletions, self._deletions = self._deletions, []
        if not deletions:
            return
        done = await asyncio.gather(*(self._delete_in(row, deletions) for row in self._rows))
        lost = {kind for row, deleted in zip(self._rows, done, strict=True) if not deleted for kind in row.keeps}
        self._tally.response.acknowledged += sum(kind not in lost for kind, _ in deletions)

    async def _delete_in(self, row: LaneRow, deletions: Sequence[tuple[str, str]]) -> bool:
        kept = [(kind, identity) for kind, identity in deletions if kind in row.keeps]
        if not kept:
            return True
        question = DeleteRequest(
            document_ids=[identity for kind, identity in kept if kind == "document"],
            entity_ids=[identity for kind, identity in kept if kind == "entity"],
        )
        account = self._tally.lanes[row.name]
        try:
            reply = await call(self._stubs[row.name].Delete, question, self._deadline)
        except LanemeshError as error:
            account.error = error.reason
            return False
        account.deleted += reply.deleted
        return True
