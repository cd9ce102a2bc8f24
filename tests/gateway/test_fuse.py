"""The fusion service lost in every way: the lanes' own order stands, flagged, in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import grpc
import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.fusion_pb2 import FuseRequest, FuseResponse
from lanemesh.v1.lane_pb2 import Constraints, RetrieveResponse
from lanemesh.v1.search_pb2 import DEGRADATION_L2, DEGRADATION_L4, SearchRequest, SearchResponse

from gateway import plan
from gateway.fanout import Outcome
from gateway.fuse import Fusion
from services.runtime.clients import Peers
from services.runtime.deadline import Deadline
from services.runtime.registry import Table
from tests.gateway.hostile import FUSE, Answer, aborting, answering, never, saying, silent
from tests.gateway.reading import UNHURRIED, ids, row
from tests.support import NOBODY, TABLE, FakeLane, evidence, mesh

WHY = SearchRequest(query="why")
FOUND = {
    "vector": [evidence("a"), evidence("b"), evidence("c")],
    "kg": [evidence("g"), evidence("a")],
    "keyword": [evidence("b"), evidence("d")],
}
# Rank by rank through the lanes in table order, each document once.
OWN_ORDER = ["a", "g", "b", "d", "c"]


# Fusion's part of the time runs out long before the lanes' and the client's.
HURRIED = replace(UNHURRIED, modes={name: replace(row, fusion_ms=200) for name, row in UNHURRIED.modes.items()})


async def fused_by(address: str | bool, request: SearchRequest = WHY, table: Table = UNHURRIED) -> SearchResponse:
    lanes = {name: FakeLane(results) for name, results in FOUND.items()}
    async with mesh(lanes, fusion=address, table=table) as running:
        return await running.search.Search(request, timeout=40)


def assert_own_order(reply: SearchResponse, reason: str) -> None:
    assert ids(reply) == OWN_ORDER
    assert reply.fusion_error == reason
    assert reply.degradation == DEGRADATION_L2
    assert not reply.answer
    assert not reply.HasField("fusion")
    assert len(reply.missing) == 1
    assert {name: row(reply, name).status for name in FOUND} == dict.fromkeys(FOUND, lane_pb2.LANE_STATUS_OK)


async def test_a_fusion_nobody_serves_leaves_the_lanes_own_order() -> None:
    reply = await fused_by(NOBODY)
    assert_own_order(reply, "UNAVAILABLE")
    assert {name: row(reply, name).kept for name in FOUND} == {"vector": 3, "kg": 2, "keyword": 2}
    assert {found.document.id: list(found.lanes) for found in reply.results} == {
        "a": ["vector", "kg"],
        "g": ["kg"],
        "b": ["vector", "keyword"],
        "d": ["keyword"],
        "c": ["vector"],
    }


async def test_the_lanes_own_order_is_cut_too() -> None:
    assert ids(await fused_by(NOBODY, SearchRequest(query="why", max_results=2))) == OWN_ORDER[:2]


async def test_a_fusion_that_hangs_is_left_behind_before_the_clients_deadline() -> None:
    async with answering(FUSE, never) as address:
        assert_own_order(await fused_by(address, table=HURRIED), "DEADLINE_EXCEEDED")


async def test_a_fusion_that_never_speaks_is_left_behind_before_the_clients_deadline() -> None:
    async with silent() as address:
        reply = await fused_by(address, table=HURRIED)
    # Whichever gives up first: the connection attempt or the fusion's time.
    assert reply.fusion_error in ("DEADLINE_EXCEEDED", "UNAVAILABLE")
    assert_own_order(reply, reply.fusion_error)


UNUSABLE: Mapping[str, tuple[Answer, str]] = {
    "garbage": (saying(b"\xff\xfe\xfd garbage"), "BAD_REPLY"),
    "truncated": (saying(FuseResponse(results=FOUND["kg"]).SerializeToString()[:-3]), "BAD_REPLY"),
    "nothing at all": (saying(b""), "BAD_REPLY"),
    "every result lost": (saying(FuseResponse(answer="I know nothing.").SerializeToString()), "BAD_REPLY"),
    "internal": (aborting(grpc.StatusCode.INTERNAL), "INTERNAL"),
    "overloaded": (aborting(grpc.StatusCode.RESOURCE_EXHAUSTED), "RESOURCE_EXHAUSTED"),
    "too large": (saying(FuseResponse(answer="x" * 6 * 1024 * 1024).SerializeToString()), "RESOURCE_EXHAUSTED"),
}


@pytest.mark.parametrize(("answer", "reason"), UNUSABLE.values(), ids=UNUSABLE)
async def test_a_fusion_reply_that_cannot_be_used_is_flagged(answer: Answer, reason: str) -> None:
    async with answering(FUSE, answer) as address:
        assert_own_order(await fused_by(address), reason)


async def test_fusion_is_asked_for_what_the_client_asked() -> None:
    asked: list[FuseRequest] = []

    async def answer(request: bytes, _context: object) -> bytes:
        asked.append(FuseRequest.FromString(request))
        return FuseResponse(results=[evidence("a")], answer="Because.").SerializeToString()

    request = SearchRequest(
        query="why",
        mode=lane_pb2.MODE_TECHNICAL,
        max_results=7,
        constraints=Constraints(citations_required=True, cost=lane_pb2.COST_LOW),
    )
    async with answering(FUSE, answer) as address:
        reply = await fused_by(address, request)
    (question,) = asked
    assert (question.query, question.mode, question.max_results) == ("why", lane_pb2.MODE_TECHNICAL, 7)
    assert (question.citations_required, question.max_answer_tokens) == (True, 1000)
    assert [findings.lane for findings in question.lanes] == list(FOUND)
    assert (reply.answer, ids(reply), reply.fusion_error) == ("Because.", ["a"], "")


async def test_without_any_evidence_fusion_is_not_asked() -> None:
    async with mesh({"keyword": FakeLane(), "kg": NOBODY}, fusion=NOBODY, table=UNHURRIED) as running:
        reply = await running.search.Search(WHY)
        assert (reply.fusion_error, list(reply.results), reply.answer) == ("", [], "")
        assert reply.missing
        nothing = await running.search.Search(SearchRequest(query="why", include_lanes=["kg"]))
    assert nothing.degradation == DEGRADATION_L4


async def test_a_fusion_switched_off_is_flagged_as_such() -> None:
    planned = plan.make(WHY, TABLE.only({"keyword"}), 5000.0, 0.0, datetime(2026, 3, 1, tzinfo=UTC))
    reply = RetrieveResponse(lane="keyword", evidence=FOUND["keyword"])
    names = [found.document.id for found in reply.evidence]
    outcome = Outcome("keyword", lane_pb2.LANE_STATUS_OK, "", "", 100.0, 0.0, 1.0, reply, names)
    peers = Peers({"fusion": NOBODY}, max_reply_bytes=1024)
    try:
        fused = await Fusion(TABLE, peers, enabled=False).begin(WHY, planned, [outcome], Deadline.after(5.0)).fused()
    finally:
        await peers.close()
    assert (fused.error, fused.kept) == ("FUSION_DISABLED", {"keyword": 2})
