"""The order so far is plain RRF, whatever the order of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanemesh.v1 import lane_pb2
from lanemesh.v1.evidence_pb2 import FINALITY_FINAL, FINALITY_PROVISIONAL, Evidence
from lanemesh.v1.lane_pb2 import RetrieveResponse

from gateway import provisional
from gateway.outcome import Outcome
from tests.support import TABLE, evidence


def found(lane: str, *identities: str) -> Outcome:
    reply = RetrieveResponse(lane=lane, evidence=[evidence(identity) for identity in identities])
    return Outcome(lane, lane_pb2.LANE_STATUS_OK, "", "", 100.0, 0.0, 1.0, reply)


LOST = Outcome("web", lane_pb2.LANE_STATUS_ERROR, "UNAVAILABLE", "away", 100.0, 0.0, 1.0, None)
OUTCOMES = [found("vector", "a", "b"), found("keyword", "b", "c", "c"), LOST]


def order_of(outcomes: Sequence[Outcome], limit: int = 10, waiting: Sequence[str] = ("kg",)) -> list[Evidence]:
    return provisional.order(outcomes, waiting, TABLE, (), limit)


def test_agreement_raises_and_a_repeated_document_counts_once_a_lane() -> None:
    order = order_of(OUTCOMES, 10)
    assert [hit.document.id for hit in order] == ["b", "a", "c"]
    assert [hit.score for hit in order] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])
    assert [list(hit.lanes) for hit in order] == [["keyword", "vector"], ["vector"], ["keyword"]]


def test_hits_are_provisional_and_brief() -> None:
    for hit in order_of(OUTCOMES, 10):
        assert hit.finality == FINALITY_PROVISIONAL
        assert hit.document.title
        assert not hit.document.content


def test_the_order_is_cut() -> None:
    assert len(order_of(OUTCOMES, 2)) == 2
    assert order_of([LOST], 10) == []


def test_the_order_of_arrival_changes_nothing() -> None:
    orders = [order_of(arrived, 10) for arrived in permutations(OUTCOMES)]
    assert all(order == orders[0] for order in orders)


def test_every_hit_is_final_when_no_lane_is_missing() -> None:
    assert {hit.finality for hit in order_of(OUTCOMES, waiting=())} == {FINALITY_FINAL}


def test_a_lead_that_a_missing_lane_cannot_make_up_is_final() -> None:
    lanes = ("vector", "keyword", "news", "local")
    agreed = [found(lane, "a", f"{lane}-1", f"{lane}-2") for lane in lanes]
    order = order_of(agreed)
    assert [hit.document.id for hit in order if hit.finality == FINALITY_FINAL] == ["a"]


ranking = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6)


@given(st.lists(ranking, min_size=1, max_size=5), st.lists(ranking, min_size=1, max_size=2))
def test_no_missing_lane_moves_a_final_hit(came: list[list[str]], missing: list[list[str]]) -> None:
    lanes = ("vector", "keyword", "news", "local", "markets", "kg", "web")
    ended = [found(lane, *names) for lane, names in zip(lanes, came, strict=False)]
    late = [found(lane, *names) for lane, names in zip(reversed(lanes), missing, strict=False)]
    before = order_of(ended, 100, [outcome.lane for outcome in late])
    after = [hit.document.id for hit in order_of([*ended, *late], 100, ())]
    for place, hit in enumerate(before):
        if hit.finality == FINALITY_FINAL:
            assert after[place] == hit.document.id
