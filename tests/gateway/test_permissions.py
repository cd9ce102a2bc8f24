"""What a caller may do holds at every door: searches, plans, streams, ingestion and HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from lanemesh.v1 import lane_pb2
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.search_pb2 import (
    IngestRequest,
    IngestResponse,
    ListLanesRequest,
    PlanRequest,
    RefineRequest,
    SearchRequest,
    StreamSearchRequest,
)

from gateway.identity import Caller, Callers
from gateway.rate import Rate
from services.runtime.errors import Overloaded, PermissionDenied, Unavailable, details, from_status
from tests.gateway.reading import UNHURRIED
from tests.gateway.test_http import WHY, door, post
from tests.runtime.conftest import Clock
from tests.support import FakeLane, Mesh, evidence, mesh

LANES = ("keyword", "vector", "preflight")
SECRETS = {name: f"the token of {name}" for name in ("reader", "writer", "cleaner", "slow", "mute")}
ROWS = {
    "reader": Caller("reader", lanes=frozenset({"keyword"}), ingest=False, delete=False),
    "writer": Caller("writer", delete=False),
    "cleaner": Caller("cleaner", ingest=False),
    "slow": Caller("slow", rate=Rate(per_second=0.5, burst=2.0)),
    "mute": Caller("mute", lanes=frozenset()),
}


def token(name: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {SECRETS[name]}"),)


@asynccontextmanager
async def running(clock: Clock | None = None, **lanes: FakeLane) -> AsyncIterator[Mesh]:
    by_digest = {sha256(SECRETS[name].encode()).hexdigest(): caller for name, caller in ROWS.items()}
    callers = Callers(by_digest, clock=clock or Clock())
    every = {name: FakeLane([evidence(name)]) for name in LANES} | lanes
    async with mesh(every, table=UNHURRIED, callers=callers) as found:
        yield found


async def refused(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


async def test_a_lane_that_is_not_open_is_skipped_and_said_to_be() -> None:
    lane = FakeLane([evidence("secret")])
    async with running(vector=lane) as found:
        reply = await found.search.Search(SearchRequest(query="why"), metadata=token("reader"))
        planned = await found.search.Plan(PlanRequest(search=SearchRequest(query="why")), metadata=token("reader"))
    rows = {row.lane: row for row in reply.ledger}
    assert (rows["vector"].status, rows["vector"].reason) == (lane_pb2.LANE_STATUS_SKIPPED, "NOT_PERMITTED")
    assert rows["vector"].message == "not open to caller reader"
    assert rows["keyword"].returned == 1
    plans = {row.lane: row for row in planned.plan.lanes}
    assert (plans["vector"].included, plans["vector"].reason) == (False, "not open to caller reader")
    assert plans["keyword"].included
    assert not lane.asked


async def test_it_is_no_fallback_either() -> None:
    lane = FakeLane([evidence("secret")])
    async with running(vector=lane, keyword=FakeLane(error=Unavailable("away"))) as found:
        reply = await found.search.Search(SearchRequest(query="why"), metadata=token("reader"))
        allowed = await found.search.Search(
            SearchRequest(query="why", exclude_lanes=["preflight"]), metadata=token("writer")
        )
    assert not any(row.fallback_for for row in reply.ledger)
    assert len(lane.asked) == 1
    assert {row.lane for row in allowed.ledger if row.returned} == {"vector"}


async def test_the_stream_tells_the_same() -> None:
    async with running() as found:
        request = StreamSearchRequest(search=SearchRequest(query="why"))
        events = [event async for event in found.search.StreamSearch(request, metadata=token("reader"))]
    assert {event.lane.row.lane for event in events if event.HasField("lane")} == {"keyword"}
    rows = {row.lane: row.reason for row in events[-1].final.ledger}
    assert rows["vector"] == "NOT_PERMITTED"


async def test_asking_for_it_by_name_is_denied_naming_the_field() -> None:
    lane = FakeLane()
    async with running(vector=lane) as found:
        request = SearchRequest(query="why", include_lanes=["keyword", "vector"])
        calls = [
            found.search.Search(request, metadata=token("reader")),
            found.search.Plan(PlanRequest(search=request), metadata=token("reader")),
            found.search.StreamSearch(StreamSearchRequest(search=request), metadata=token("reader")).read(),
        ]
        for call in calls:
            error = from_status(await refused(call))
            assert isinstance(error, PermissionDenied)
            assert (error.field, error.reason) == ("include_lanes", "NOT_PERMITTED")
            assert error.description == "lane 'vector' is not open to caller reader"
        denied = await refused(found.search.Refine(RefineRequest(query="why"), metadata=token("reader")))
        assert denied.code() is grpc.StatusCode.PERMISSION_DENIED
    assert not lane.asked


async def test_a_caller_of_no_lanes_gets_an_honest_nothing() -> None:
    async with running() as found:
        reply = await found.search.Search(SearchRequest(query="why"), metadata=token("mute"))
    assert not reply.results
    assert {row.reason for row in reply.ledger if row.lane in LANES} == {"NOT_PERMITTED"}


async def test_lanes_are_listed_but_not_counted_for_whom_they_are_not_open() -> None:
    async with running() as found:
        listed = await found.search.ListLanes(ListLanesRequest(), metadata=token("reader"))
    counted = {info.name for info in listed.lanes if info.HasField("stats")}
    assert counted == {"keyword"}


async def test_nobody_known_is_nobody_served() -> None:
    lane = FakeLane([evidence("a")])
    async with running(keyword=lane) as found:
        for metadata in ((), (("authorization", "Bearer of bad news"),)):
            error = await refused(found.search.Search(SearchRequest(query="why"), metadata=metadata))
            assert error.code() is grpc.StatusCode.UNAUTHENTICATED
            assert "bad news" not in str(error)
    assert not lane.asked


async def ingest(found: Mesh, name: str) -> IngestResponse:
    records = [
        IngestRequest(document=Document(id="a", title="t", content="c")),
        IngestRequest(delete_document_id="b"),
    ]
    reply: IngestResponse = await found.search.Ingest(iter(records), metadata=token(name))
    return reply


async def test_storing_and_deleting_are_permissions_of_their_own() -> None:
    lanes = {name: FakeLane(stored={"b": Document(id="b")}) for name in ("keyword", "vector", "preflight")}
    async with running(**lanes) as found:
        denied = await refused(found.search.Ingest(iter([IngestRequest()]), metadata=token("reader")))
        assert denied.code() is grpc.StatusCode.PERMISSION_DENIED
        stored = await ingest(found, "writer")
        assert set(lanes["keyword"].stored) == {"a", "b"}
        deleted = await ingest(found, "cleaner")
        assert set(lanes["keyword"].stored) == {"a"}
    assert (stored.received, stored.acknowledged) == (deleted.received, deleted.acknowledged) == (2, 1)
    (refusal,) = stored.failures
    assert (refusal.sequence, refusal.id, refusal.reason) == (2, "b", "PERMISSION_DENIED")
    assert (refusal.field, refusal.message) == ("delete_document_id", "caller writer may not delete")
    (refusal,) = deleted.failures
    assert (refusal.sequence, refusal.field, refusal.message) == (1, "document", "caller cleaner may not store")


async def test_a_caller_beyond_its_rate_is_told_when_to_come_back() -> None:
    clock = Clock()
    async with running(clock) as found:
        search = found.search
        await search.Search(SearchRequest(query="why"), metadata=token("slow"))
        await search.ListLanes(ListLanesRequest(), metadata=token("slow"))
        for call in (
            search.Search(SearchRequest(query="why"), metadata=token("slow")),
            search.Plan(PlanRequest(search=SearchRequest(query="why")), metadata=token("slow")),
            search.Refine(RefineRequest(query="why"), metadata=token("slow")),
            search.ListLanes(ListLanesRequest(), metadata=token("slow")),
            search.Ingest(iter([IngestRequest()]), metadata=token("slow")),
            search.StreamSearch(StreamSearchRequest(), metadata=token("slow")).read(),
        ):
            error = from_status(await refused(call))
            assert isinstance(error, Overloaded)
            assert (error.reason, error.retry_after) == ("RATE_LIMITED", 2.0)
        await search.Search(SearchRequest(query="why"), metadata=token("writer"))
        clock.now += 2.0
        await search.Search(SearchRequest(query="why"), metadata=token("slow"))


async def test_the_json_door_holds_to_the_same() -> None:
    async with running() as found, door(found) as session:
        reader, slow = (f"Bearer {SECRETS[name]}" for name in ("reader", "slow"))
        status, reply = await post(session, "/v1/search", WHY, Authorization=reader)
        assert status == 200
        assert {row["lane"]: row["reason"] for row in reply["ledger"]}["vector"] == "NOT_PERMITTED"
        asked = {"query": "why", "include_lanes": ["vector"]}
        status, body = await post(session, "/v1/search", asked, Authorization=reader)
        assert (status, body["error"]["code"], body["error"]["field"]) == (403, "PERMISSION_DENIED", "include_lanes")
        assert (await post(session, "/v1/search", WHY))[0] == 401
        for expected in (200, 200, 429):
            async with session.post("/v1/plan", json=WHY, headers={"Authorization": slow}) as response:
                assert response.status == expected
        assert response.headers["Retry-After"] == "2"
        for headers, expected in (({}, 401), ({"Authorization": reader}, 200)):
            async with session.get("/metrics", headers=headers) as response:
                assert response.status == expected
                assert SECRETS["reader"] not in await response.text()
        async with session.get("/healthz") as response:
            assert response.status == 200


async def test_no_token_or_hash_of_one_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with running() as found:
        await found.search.Search(SearchRequest(query="why"), metadata=token("reader"))
        await refused(found.search.Search(SearchRequest(query="why"), metadata=(("authorization", "Bearer guess"),)))
    logged = caplog.text + json.dumps([str(record.__dict__) for record in caplog.records])
    for secret in (SECRETS["reader"], sha256(SECRETS["reader"].encode()).hexdigest(), "guess"):
        assert secret not in logged


def test_a_refusal_names_its_field_in_the_details() -> None:
    info = error_details_pb2.ErrorInfo()
    assert details(PermissionDenied("no", field="include_lanes")).details[0].Unpack(info)
    assert info.metadata["field"] == "include_lanes"
