"""Hits that mean the same are named, on every engine and by the numbers."""

from __future__ import annotations

from lanemesh.v1.evidence_pb2 import Document

from services.vector.alike import alike
from services.vector.lane import VectorLane
from tests.vector.lanes import search, store

RETRY = "A failed charge is retried three times. Between the attempts the adapter waits for two seconds."


async def test_hits_that_mean_the_same_are_named(lane: VectorLane) -> None:
    await store(
        lane,
        Document(id="orders", content=RETRY),
        Document(id="billing", content=f"{RETRY} "),
        Document(id="lunch", content="A charge for lunch is made at noon."),
    )
    reply = await search(lane, "how often is a failed charge retried")
    named = {evidence.document.id: list(evidence.near_duplicates) for evidence in reply.evidence}
    assert named["orders"] == ["billing"]
    assert named["billing"] == ["orders"]
    assert named.get("lunch", []) == []


async def test_a_hit_alone_is_compared_with_nothing(lane: VectorLane) -> None:
    await store(lane, Document(id="orders", content=RETRY))
    reply = await search(lane, "how often is a failed charge retried")
    assert [list(evidence.near_duplicates) for evidence in reply.evidence] == [[]]


def test_the_cosine_decides_whatever_the_lengths() -> None:
    vectors = {"a": [1.0, 0.0], "b": [3.0, 1.0], "c": [0.0, 1.0], "zero": [0.0, 0.0]}
    assert alike(vectors, 0.9) == {"a": ["b"], "b": ["a"]}
    assert alike(vectors, 0.99) == {}
    assert alike({"a": [1.0, 0.0]}, 0.0) == alike({}, 0.0) == {}
