"""Lanes that have nothing to say to a query, and those that only look so."""

from __future__ import annotations

from lanemesh.v1.evidence_pb2 import Evidence

from fusion_service.coverage import Coverage
from fusion_service.fuse import fuse
from fusion_service.guards import weigh
from fusion_service.identity import distinct
from fusion_service.question import ask
from services.runtime.registry import load_table
from tests.fusion_service.samples import evidence, findings, request

ROW = load_table().fusion
QUESTION = "payment gateway retry budget"
TOPICAL = [evidence(f"p{n}", f"the payment gateway spends retry budget {n}", score=9 - n) for n in range(8)]
LUNCH = [evidence(f"l{n}", f"lunch is served at noon {n}", score=9 - n) for n in range(8)]


def alone(one: list[Evidence], other: list[Evidence]) -> float:
    lanes = [findings("keyword", *one), findings("vector", *other)]
    weights = weigh(lanes, distinct(lanes), Coverage(ask(QUESTION, [])), [], ROW)
    assert weights.alone.get("keyword", 1.0) == 1.0
    assert weights.lanes.get("vector", 1.0) == 1.0
    return weights.alone.get("vector", 1.0)


def flat(found: list[Evidence]) -> list[Evidence]:
    return [Evidence(document=one.document, score=0.5) for one in found]


def test_a_lane_off_topic_is_lowered() -> None:
    assert alone(TOPICAL, LUNCH) == ROW.guards["off_topic"]


def test_a_lane_that_scores_all_alike_is_lowered() -> None:
    other = [evidence(f"o{n}", f"payment gateway retry budget of team {n}") for n in range(8)]
    assert alone(TOPICAL, flat(other)) == ROW.guards["flat"]
    assert alone(TOPICAL, flat(other)[:4]) == 1.0


def test_agreement_keeps_a_lane_s_weight() -> None:
    assert alone(TOPICAL, [*LUNCH[:6], *TOPICAL[:2]]) == 1.0


def test_a_lane_that_linked_the_question_s_entities_is_on_topic() -> None:
    linked = Evidence(document=LUNCH[0].document, entities=["PaymentGateway"])
    assert alone(TOPICAL, [linked, *LUNCH[1:]]) == 1.0


def test_one_lane_is_never_lowered() -> None:
    lanes = [findings("vector", *flat(LUNCH)), findings("web")]
    assert weigh(lanes, distinct(lanes), Coverage(ask(QUESTION, [])), [], ROW).alone == {}


def test_noise_does_not_interleave_with_what_was_found() -> None:
    asked = request(findings("keyword", *TOPICAL), findings("vector", *LUNCH), query=QUESTION)
    order = [result.document.id for result in fuse(asked, load_table()).results]
    assert order[:8] == [f"p{n}" for n in range(8)]
