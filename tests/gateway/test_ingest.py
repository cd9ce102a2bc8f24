"""Ingestion through the front door: every index lane or no acknowledgement, in order, no faster than lanes store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, Entity, RecordFailure, Relation, UpsertRequest
from lanemesh.v1.search_pb2 import IngestRequest, IngestResponse, LaneIngestion

from gateway.ingest import DELETE_BATCH, Ingestion
from services.runtime.clients import Peers
from services.runtime.deadline import Deadline
from services.runtime.errors import Unavailable
from tests.gateway.hostile import answering
from tests.gateway.reading import at_work, settled
from tests.support import NOBODY, TABLE, FakeLane, Mesh, lane_server, mesh


def store(identity: str, content: str = "text", line: int = 0) -> IngestRequest:
    return IngestRequest(line=line, document=Document(id=identity, content=content))


def drop(identity: str) -> IngestRequest:
    return IngestRequest(delete_document_id=identity)


def two() -> dict[str, FakeLane]:
    return {"vector": FakeLane(), "keyword": FakeLane()}


async def ingest(lanes: dict[str, Any], requests: Iterable[IngestRequest]) -> IngestResponse:
    async with mesh(lanes) as running:
        return await running.search.Ingest(iter(requests))


def account(reply: IngestResponse, lane: str) -> LaneIngestion:
    (found,) = [entry for entry in reply.lanes if entry.lane == lane]
    return found


@dataclass
class Gated(FakeLane):
    """Stores nothing before its door opens."""

    door: asyncio.Event = field(default_factory=asyncio.Event)
    storing: asyncio.Event = field(default_factory=asyncio.Event)

    async def upsert(self, records: Sequence[UpsertRequest]) -> Sequence[RecordFailure]:
        self.storing.set()
        await self.door.wait()
        return await super().upsert(records)


@dataclass
class Graph(FakeLane):
    """Keeps entities and relations as well, by name only."""

    keeps: frozenset[str] = frozenset({"document", "entity", "relation"})
    seen: list[str] = field(default_factory=list)
    deleted: list[DeleteRequest] = field(default_factory=list)

    async def upsert(self, records: Sequence[UpsertRequest]) -> Sequence[RecordFailure]:
        self.seen += [record.WhichOneof("record") or "" for record in records]
        return []

    async def delete(self, request: DeleteRequest) -> int:
        self.deleted.append(request)
        return len(request.entity_ids)


async def test_every_index_lane_gets_every_record() -> None:
    lanes = two()
    reply = await ingest(lanes, [store("a"), store("b"), store("c")])
    assert (reply.received, reply.acknowledged, reply.unkept, len(reply.failures)) == (3, 3, 0, 0)
    for name, lane in lanes.items():
        assert sorted(lane.stored) == ["a", "b", "c"]
        assert account(reply, name) == LaneIngestion(lane=name, stored=3)


async def test_a_lane_without_an_index_takes_no_part() -> None:
    reply = await ingest({"keyword": FakeLane(), "local": NOBODY}, [store("a")])
    assert reply.acknowledged == 1
    assert [entry.lane for entry in reply.lanes] == ["keyword"]


async def test_an_empty_stream_is_answered() -> None:
    reply = await ingest(two(), [])
    assert (reply.received, reply.acknowledged) == (0, 0)


async def test_a_record_one_lane_refuses_is_not_acknowledged() -> None:
    lanes = {"vector": FakeLane(), "keyword": FakeLane(refuse=lambda record: "no" if record.document.id == "b" else "")}
    reply = await ingest(lanes, [store("a", line=11), store("b", line=12), store("c", line=13)])
    assert (reply.received, reply.acknowledged) == (3, 2)
    assert list(reply.failures) == [RecordFailure(sequence=12, id="b", message="no", lane="keyword")]
    assert (account(reply, "vector").stored, account(reply, "keyword").stored) == (3, 2)


async def test_a_record_every_lane_refuses_fails_once_for_each() -> None:
    lanes = {name: FakeLane(refuse=lambda _record: "no") for name in ("vector", "keyword")}
    reply = await ingest(lanes, [store("a")])
    assert reply.acknowledged == 0
    assert [(failure.sequence, failure.lane) for failure in reply.failures] == [(1, "vector"), (1, "keyword")]


@pytest.mark.parametrize("lost", [NOBODY, FakeLane(error=Unavailable("away"))], ids=["nobody", "failing"])
async def test_a_lane_down_acknowledges_nothing_and_the_other_still_stores(lost: FakeLane | str) -> None:
    other = FakeLane()
    reply = await ingest({"vector": lost, "keyword": other}, [store("a"), store("b")])
    assert (reply.received, reply.acknowledged) == (2, 0)
    assert account(reply, "vector") == LaneIngestion(lane="vector", error="UNAVAILABLE")
    assert account(reply, "keyword") == LaneIngestion(lane="keyword", stored=2)
    assert sorted(other.stored) == ["a", "b"]


async def test_what_a_lane_that_is_down_missed_is_told_record_by_record() -> None:
    requests = [
        store("a", line=11),
        drop("b"),
        IngestRequest(line=13, document=Document(id="bad")),
        store("c", line=14),
    ]
    reply = await ingest({"vector": NOBODY, "keyword": FakeLane()}, requests)
    told = [(failure.sequence, failure.id, failure.lane, failure.reason) for failure in reply.failures]
    assert sorted(told) == [
        (2, "b", "vector", "UNAVAILABLE"),
        (11, "a", "vector", "UNAVAILABLE"),
        (13, "bad", "", "INVALID_ARGUMENT"),
        (14, "c", "vector", "UNAVAILABLE"),
    ]
    assert all(failure.message for failure in reply.failures)
    assert reply.received == reply.acknowledged + reply.unkept + len({failure.sequence for failure in reply.failures})


async def test_a_lane_down_does_not_stop_a_stream_longer_than_its_queue() -> None:
    other = FakeLane()
    reply = await ingest({"vector": NOBODY, "keyword": other}, [store(f"d{number}") for number in range(300)])
    assert (reply.received, reply.acknowledged, len(other.stored)) == (300, 0, 300)


async def test_a_lane_that_ignores_what_it_should_keep_is_not_taken_for_stored() -> None:
    lanes = {"vector": FakeLane(keeps=frozenset()), "keyword": FakeLane()}
    reply = await ingest(lanes, [store("a")])
    assert reply.acknowledged == 0
    assert account(reply, "vector") == LaneIngestion(lane="vector", ignored=1, error="BAD_REPLY")
    assert account(reply, "keyword").stored == 1


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (IngestRequest(document=Document(id="x")), "document.content"),
        (IngestRequest(document=Document(content="text")), "document.id"),
        (IngestRequest(entity=Entity(id="x")), "entity.name"),
        (IngestRequest(relation=Relation(head="x", tail="y")), "relation.relation"),
        (IngestRequest(delete_document_id=""), "delete_document_id"),
        (IngestRequest(), "record"),
    ],
)
async def test_an_invalid_record_is_named_by_line_and_field_and_the_others_are_stored(
    bad: IngestRequest, named: str
) -> None:
    lanes = two()
    reply = await ingest(lanes, [store("a"), bad, store("c")])
    assert (reply.received, reply.acknowledged) == (3, 2)
    (failure,) = reply.failures
    assert (failure.sequence, failure.field, failure.lane) == (2, named, "")
    assert (failure.reason, bool(failure.message)) == ("INVALID_ARGUMENT", True)
    assert all(sorted(lane.stored) == ["a", "c"] for lane in lanes.values())


async def test_deleting_reaches_every_lane() -> None:
    lanes = two()
    reply = await ingest(lanes, [store("a"), store("b"), drop("a"), drop("never there")])
    assert (reply.received, reply.acknowledged) == (4, 4)
    assert all(list(lane.stored) == ["b"] for lane in lanes.values())
    assert account(reply, "keyword") == LaneIngestion(lane="keyword", stored=2, deleted=1)


async def test_a_deletion_one_lane_misses_is_not_acknowledged() -> None:
    other = FakeLane(stored={"a": Document(id="a")})
    reply = await ingest({"vector": NOBODY, "keyword": other}, [drop("a")])
    assert (reply.received, reply.acknowledged) == (1, 0)
    assert account(reply, "vector").error == "UNAVAILABLE"
    assert not other.stored


async def test_deletions_beyond_one_batch_are_all_made() -> None:
    number = DELETE_BATCH + 1
    lane = FakeLane(stored={f"d{place}": Document(id=f"d{place}") for place in range(number)})
    reply = await ingest({"keyword": lane}, [drop(f"d{place}") for place in range(number)])
    assert (reply.acknowledged, account(reply, "keyword").deleted, lane.stored) == (number, number, {})


@pytest.mark.parametrize(
    ("requests", "left"),
    [
        ([store("a", "old"), drop("a"), store("a", "new")], {"a": "new"}),
        ([store("a", "old"), store("a", "new")], {"a": "new"}),
        ([store("a"), drop("a"), store("b"), drop("b"), store("c"), drop("a")], {"c": "text"}),
        ([drop("a"), store("a")], {"a": "text"}),
    ],
)
async def test_the_order_of_the_sender_is_kept(requests: list[IngestRequest], left: dict[str, str]) -> None:
    lanes = two()
    reply = await ingest(lanes, requests)
    assert reply.acknowledged == len(requests)
    for lane in lanes.values():
        assert {identity: document.content for identity, document in lane.stored.items()} == left


async def test_kinds_that_no_lane_keeps_are_counted() -> None:
    entity = IngestRequest(entity=Entity(id="e", name="E"))
    relation = IngestRequest(relation=Relation(head="e", relation="CALLS", tail="f"))
    gone = IngestRequest(delete_entity_id="e")
    reply = await ingest(two(), [store("a"), entity, relation, gone])
    assert (reply.received, reply.acknowledged, reply.unkept, len(reply.failures)) == (4, 1, 3, 0)


async def test_a_kind_is_sent_to_the_lanes_that_keep_it() -> None:
    graph, keyword = Graph(), FakeLane()
    requests = [
        IngestRequest(entity=Entity(id="e", name="E")),
        store("a"),
        IngestRequest(relation=Relation(head="e", relation="CALLS", tail="f")),
    ]
    reply = await ingest({"kg": graph, "keyword": keyword}, requests)
    assert graph.seen == ["entity", "document", "relation"]
    assert list(keyword.stored) == ["a"]
    assert (reply.acknowledged, reply.unkept) == (3, 0)


async def test_a_relation_is_deleted_where_relations_are_kept() -> None:
    graph, relation = Graph(), Relation(head="e", relation="CALLS", tail="f")
    broken = IngestRequest(delete_relation=Relation(head="e", tail="f"))
    reply = await ingest({"kg": graph, "keyword": NOBODY}, [IngestRequest(delete_relation=relation), broken])
    assert [list(asked.relations) for asked in graph.deleted] == [[relation]]
    assert (reply.received, reply.acknowledged, reply.unkept) == (2, 1, 0)
    assert [(failure.sequence, failure.field) for failure in reply.failures] == [(2, "relation.relation")]


async def test_deleting_an_entity_needs_only_the_lanes_that_keep_entities() -> None:
    graph = Graph()
    reply = await ingest({"kg": graph, "keyword": NOBODY}, [IngestRequest(delete_entity_id="e"), drop("a")])
    assert [(list(asked.document_ids), list(asked.entity_ids)) for asked in graph.deleted] == [(["a"], ["e"])]
    assert (reply.received, reply.acknowledged) == (2, 1)


@dataclass
class Sender:
    """Gives records of 100 kB as fast as they are taken, and says when it gave more than should be under way."""

    records: int
    most: int
    given: int = 0
    overrun: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self) -> AsyncIterator[IngestRequest]:
        for number in range(self.records):
            if number > self.most:
                self.overrun.set()
            self.given += 1
            yield store(f"d{number}", "x" * 100_000)


async def test_a_lane_that_stores_slowly_slows_the_sender_down() -> None:
    slow, quick = Gated(), FakeLane()
    # A batch of 4 MB in the lane, a queue of 64 in the gateway, and what the connections hold.
    sender = Sender(records=600, most=500)
    async with mesh({"vector": slow, "keyword": quick}) as running, asyncio.timeout(60):
        call = running.search.Ingest(sender.stream())
        await slow.storing.wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(sender.overrun.wait(), 0.3)
        slow.door.set()
        reply = await call
    assert (sender.given, reply.received, reply.acknowledged) == (600, 600, 600)
    assert len(slow.stored) == len(quick.stored) == 600


async def one_then_wait(sent: asyncio.Event) -> AsyncIterator[IngestRequest]:
    yield store("a")
    sent.set()
    await asyncio.Event().wait()


async def cancelled_midway(running: Mesh, stream: AsyncIterator[IngestRequest], until: asyncio.Event) -> None:
    before = at_work()
    call = running.search.Ingest(stream)
    await until.wait()
    call.cancel()
    await settled(before)


async def test_when_the_client_leaves_mid_stream_no_task_is_left() -> None:
    sent = asyncio.Event()
    async with mesh(two()) as running:
        await cancelled_midway(running, one_then_wait(sent), sent)
        assert (await running.search.Ingest(iter([store("b")]))).acknowledged == 1


async def test_when_the_client_leaves_after_a_lane_was_lost_no_task_is_left() -> None:
    aborted, lost = asyncio.Event(), asyncio.Event()

    async def refuse(_records: object, context: Any) -> bytes:
        aborted.set()
        await context.abort(grpc.StatusCode.INTERNAL, "refused on purpose")
        raise AssertionError("abort returned")

    async def stream() -> AsyncIterator[IngestRequest]:
        yield store("a")
        await aborted.wait()
        await asyncio.wait([task for task in at_work() if "LaneFeed._run" in task.get_coro().__qualname__])
        lost.set()
        await asyncio.Event().wait()

    handler = grpc.stream_unary_rpc_method_handler(refuse)
    async with answering("lanemesh.v1.IndexService/Upsert", handler) as address, mesh({"vector": address}) as running:
        await cancelled_midway(running, stream(), lost)


async def test_an_ingestion_cancelled_while_it_finishes_leaves_no_task() -> None:
    ended, slow = asyncio.Event(), Gated()

    async def stream() -> AsyncIterator[IngestRequest]:
        yield store("a")
        ended.set()

    async with lane_server("vector", slow) as address:
        peers = Peers({"vector": address}, max_reply_bytes=1024)
        before = at_work()
        ingestion = Ingestion(TABLE.only({"vector"}), peers, Deadline.after(60.0))
        task = asyncio.create_task(ingestion.run(stream()))
        await ended.wait()
        task.cancel()
        await settled(before)
        await peers.close()
    assert task.cancelled()


@pytest.mark.parametrize("records", [1, 200])
async def test_when_the_client_leaves_a_lane_that_is_storing_no_task_is_left(records: int) -> None:
    slow = Gated()
    async with mesh({"vector": slow, "keyword": FakeLane()}) as running:
        await cancelled_midway(running, Sender(records, records).stream(), slow.storing)
        slow.door.set()
        assert (await running.search.Ingest(iter([store("b")]))).acknowledged == 1
    assert list(slow.stored) == ["b"]


async def test_a_lane_that_hangs_is_accounted_for_when_the_time_is_up() -> None:
    async def stream() -> AsyncIterator[IngestRequest]:
        yield store("a")

    async with lane_server("vector", Gated()) as address:
        peers = Peers({"vector": address}, max_reply_bytes=1024)
        before = at_work()
        reply = await Ingestion(TABLE.only({"vector"}), peers, Deadline.after(0.2)).run(stream())
        await settled(before)
        await peers.close()
    assert (reply.received, reply.acknowledged) == (1, 0)
    assert account(reply, "vector") == LaneIngestion(lane="vector", error="DEADLINE_EXCEEDED")
