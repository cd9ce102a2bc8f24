"""The order so far is plain RRF, whatever the order of arrival."""

from __future__ import annotations

from itertools import permutations

import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.evidence_pb2 import FINALITY_PROVISIONAL
from lanemesh.v1.lane_pb2 import RetrieveResponse

from gateway import provisional
from gateway.fanout import Outcome
from tests.support import TABLE, evidence


def found(lane: str, *identities: str) -> Outcome:
    reply = RetrieveResponse(lane=lane, evidence=[evidence(identity) for identity in identities])
    return Outcome(lane, lane_pb2.LANE_STATUS_OK, "", "", 100.0, 0.0, 1.0, reply)


LOST = Outcome("web", lane_pb2.LANE_STATUS_ERROR, "UNAVAILABLE", "away", 100.0, 0.0, 1.0, None)
OUTCOMES = [found("vector", "a", "b"), found("keyword", "b", "c", "c"), LOST]


def test_agreement_raises_and_a_repeated_document_counts_once_a_lane() -> None:
    order = provisional.order(OUTCOMES, TABLE, 10)
    assert [hit.document.id for hit in order] == ["b", "a", "c"]
    assert [hit.score for hit in order] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])
    assert [list(hit.lanes) for hit in order] == [["keyword", "vector"], ["vector"], ["keyword"]]


def test_hits_are_provisional_and_brief() -> None:
    for hit in provisional.order(OUTCOMES, TABLE, 10):
        assert hit.finality == FINALITY_PROVISIONAL
        assert hit.document.title
        assert not hit.document.content


def test_the_order_is_cut() -> None:
    assert len(provisional.order(OUTCOMES, TABLE, 2)) == 2
    assert provisional.order([LOST], TABLE, 10) == []


def test_the_order_of_arrival_changes_nothing() -> None:
    orders = [provisional.order(arrived, TABLE, 10) for arrived in permutations(OUTCOMES)]
    assert all(order == orders[0] for order in orders)
