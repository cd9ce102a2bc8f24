"""Ingestion into every index lane at once: a record is acknowledged when each lane that keeps its kind has stored it.

The stream is cut into segments of equal work, stores or deletions, so that the order of the sender is kept. The
sender is read no faster than the slowest lane stores.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, Entity, RecordFailure, Relation, UpsertRequest, UpsertResponse
from lanemesh.v1.index_pb2_grpc import IndexServiceStub
from lanemesh.v1.search_pb2 import IngestRequest, IngestResponse, LaneIngestion

from gateway.identity import ANYBODY, Caller
from services.runtime import records, telemetry
from services.runtime.clients import Peers, call, wire_time_out
from services.runtime.deadline import Deadline
from services.runtime.errors import (
    BadReply,
    DeadlinePassed,
    InvalidRequest,
    LanemeshError,
    PermissionDenied,
    from_status,
)
from services.runtime.registry import LaneRow, Table

if TYPE_CHECKING:
    from lanemesh.v1.index_pb2_grpc import IndexServiceAsyncStub

# Records under way to one lane: enough to keep it busy, few enough to bound memory.
QUEUE_RECORDS = 64
DELETE_BATCH = 1_000
# Longer than the longest pause of a channel between two attempts to connect.
REACH_SECONDS = 1.0
READY = grpc.ChannelConnectivity.READY


@dataclass(frozen=True, slots=True)
class Sent:
    """A record by the sender's number and by its identity."""

    line: int
    identity: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """What one record of the stream asks to delete."""

    sent: Sent
    kind: str
    record: str | Relation


class LaneFeed:
    """One open Upsert stream to one lane. After a failure it swallows records instead of blocking the others."""

    def __init__(self, row: LaneRow, stub: IndexServiceAsyncStub, deadline: Deadline) -> None:
        self.row = row
        self.sent: dict[int, Sent] = {}
        self.error: LanemeshError | None = None
        self._queue: asyncio.Queue[UpsertRequest | None] = asyncio.Queue(QUEUE_RECORDS)
        self._task = asyncio.ensure_future(self._run(stub, deadline))

    async def put(self, sent: Sent, record: UpsertRequest) -> None:
        """Waits until the lane has room."""
        self.sent[record.sequence] = sent
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

    def refuse(self, line: int, identity: str, error: InvalidRequest | PermissionDenied) -> None:
        """A record that no lane was asked to store."""
        self.response.failures.append(
            RecordFailure(sequence=line, id=identity, field=error.field, reason=error.reason, message=error.description)
        )

    def lose(self, lane: str, records: Iterable[Sent], error: LanemeshError) -> None:
        """Records that a lane failed as a whole to store or delete."""
        self.lanes[lane].error = error.reason
        for sent in records:
            self.response.failures.add(
                sequence=sent.line, id=sent.identity, reason=error.reason, message=error.message, lane=lane
            )

    def finished(self) -> IngestResponse:
        """The reply."""
        self.response.lanes.extend(self.lanes.values())
        return self.response


class Ingestion:
    """One Ingest call."""

    def __init__(self, table: Table, peers: Peers, deadline: Deadline, caller: Caller = ANYBODY) -> None:
        self._caller = caller
        self._rows = table.indexed()
        self._channels = [peers.channel(row.name) for row in self._rows]
        self._stubs = {row.name: IndexServiceStub(peers.channel(row.name)) for row in self._rows}
        self._deadline = deadline
        self._tally = Tally(lanes={row.name: LaneIngestion(lane=row.name) for row in self._rows})
        self._feeds: dict[str, LaneFeed] = {}
        self._deletions: list[Deletion] = []
        self._sequence = 0

    async def run(self, stream: AsyncIterator[IngestRequest]) -> IngestResponse:
        """Reads the stream to its end and accounts for every record."""
        await self._reach()
        try:
            async for request in stream:
                await self._take(request)
            await self._flush()
        finally:
            for feed in self._feeds.values():
                feed.cancel()
        return self._tally.finished()

    async def _reach(self) -> None:
        """Waits a moment for lanes not connected: a channel between two attempts does not know that they are back."""
        away = [each.channel_ready() for each in self._channels if each.get_state() is not READY]
        if away:
            patience = max(0.0, min(REACH_SECONDS, self._deadline.remaining()))
            await asyncio.gather(*(asyncio.wait_for(each, patience) for each in away), return_exceptions=True)

    async def _take(self, request: IngestRequest) -> None:
        self._tally.response.received += 1
        line = request.line or self._tally.response.received
        kind = request.WhichOneof("record")
        if kind is None:
            self._tally.refuse(line, "", InvalidRequest("record", "is missing"))
            return
        record = getattr(request, kind)
        sent = Sent(line, record if isinstance(record, str) else records.identity(record))
        try:
            _permit(self._caller, kind)
            _check(kind, record)
        except (InvalidRequest, PermissionDenied) as error:
            self._tally.refuse(line, sent.identity, error)
            return
        if kind.startswith("delete_"):
            await self._delete(Deletion(sent, kind.split("_")[1], record))
        else:
            await self._store(sent, kind, record)

    async def _store(self, sent: Sent, kind: str, record: Document | Entity | Relation) -> None:
        if self._deletions:
            await self._flush()
        keepers = [row for row in self._rows if kind in row.keeps]
        if not keepers:
            self._tally.response.unkept += 1
            return
        self._sequence += 1
        question = UpsertRequest(sequence=self._sequence)
        getattr(question, kind).CopyFrom(record)
        await asyncio.gather(*(self._feed(row).put(sent, question) for row in keepers))

    async def _delete(self, deletion: Deletion) -> None:
        if self._feeds:
            await self._flush()
        if not any(deletion.kind in row.keeps for row in self._rows):
            self._tally.response.unkept += 1
            return
        self._deletions.append(deletion)
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
            sent.update(feed.sent)
            lost.update(self._account(feed, reply))
        self._tally.response.acknowledged += len(sent - lost)

    def _account(self, feed: LaneFeed, reply: UpsertResponse) -> set[int]:
        """Adds one lane's reply to the tally; returns the sequences it did not store."""
        if feed.error is not None:
            self._tally.lose(feed.row.name, feed.sent.values(), feed.error)
            return set(feed.sent)
        account = self._tally.lanes[feed.row.name]
        account.stored += reply.stored
        account.ignored += reply.ignored
        for failure in reply.failures:
            entry = self._tally.response.failures.add()
            entry.CopyFrom(failure)
            entry.sequence = feed.sent[failure.sequence].line if failure.sequence in feed.sent else failure.sequence
            entry.lane = feed.row.name
        refused = {failure.sequence for failure in reply.failures}
        if reply.stored + len(refused) != len(feed.sent):
            # The lane left some out without naming them: none of them can be vouched for.
            unnamed = [sent for sequence, sent in feed.sent.items() if sequence not in refused]
            self._tally.lose(feed.row.name, unnamed, BadReply("the lane does not account for every record"))
            return set(feed.sent)
        return refused

    async def _finish_deletions(self) -> None:
        deletions, self._deletions = self._deletions, []
        if not deletions:
            return
        done = await asyncio.gather(*(self._delete_in(row, deletions) for row in self._rows))
        lost = {kind for row, deleted in zip(self._rows, done, strict=True) if not deleted for kind in row.keeps}
        self._tally.response.acknowledged += sum(deletion.kind not in lost for deletion in deletions)

    async def _delete_in(self, row: LaneRow, deletions: Sequence[Deletion]) -> bool:
        kept = [deletion for deletion in deletions if deletion.kind in row.keeps]
        if not kept:
            return True
        try:
            reply = await call(self._stubs[row.name].Delete, _question(kept), self._deadline)
        except LanemeshError as error:
            self._tally.lose(row.name, [deletion.sent for deletion in kept], error)
            return False
        self._tally.lanes[row.name].deleted += reply.deleted
        return True


def _permit(caller: Caller, kind: str) -> None:
    verb, allowed = ("delete", caller.delete) if kind.startswith("delete_") else ("store", caller.ingest)
    if not allowed:
        raise PermissionDenied(f"{caller.title} may not {verb}", field=kind)


def _check(kind: str, record: Document | Entity | Relation | str) -> None:
    if isinstance(record, str):
        if not record:
            raise InvalidRequest(kind, "must not be empty")
        return
    records.check(record)


def _question(deletions: Sequence[Deletion]) -> DeleteRequest:
    question = DeleteRequest()
    for deletion in deletions:
        if isinstance(deletion.record, Relation):
            question.relations.append(deletion.record)
        elif deletion.kind == "entity":
            question.entity_ids.append(deletion.record)
        else:
            question.document_ids.append(deletion.record)
    return question
