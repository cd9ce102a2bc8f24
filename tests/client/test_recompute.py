"""A client that does not take the order on trust."""

from __future__ import annotations

from hypothesis import given, settings
from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.fusion_pb2 import FuseRequest

from client.recompute import differences, order, score
from fusion_service.fuse import fuse
from services.runtime.registry import load_table
from tests.fusion_service.samples import any_request, evidence, findings, request

TABLE = load_table()


def reply() -> list[Evidence]:
    lanes = [findings("web", evidence("a"), evidence("b", url="https://x.org/1")), findings("kg", evidence("b"))]
    return list(fuse(request(*lanes), TABLE).results)


def test_the_arithmetic_of_one_reply() -> None:
    results = reply()
    assert order(results) == ["b", "a"]
    assert score(results[0]) > score(results[1])
    assert differences(results) == []


def test_a_reply_that_was_tampered_with_is_told() -> None:
    results = reply()
    results[0].score *= 2
    assert len(differences(results)) == 1
    assert len(differences(results[::-1])) == 2


@given(any_request())
@settings(deadline=None)
def test_every_order_can_be_recomputed(asked: FuseRequest) -> None:
    assert differences(fuse(asked, TABLE).results) == []
