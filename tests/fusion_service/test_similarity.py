"""What supports a sentence, and what only looks like it."""

from __future__ import annotations

import pytest

from fusion_service.passages import statement
from fusion_service.similarity import THRESHOLD, similarity

PASSAGE = "PaymentGateway retries a failed charge 3 times and waits 30 seconds before each attempt."


def measure(sentence: str, passage: str = PASSAGE, context: str = "") -> float:
    return similarity(statement(sentence), statement(passage), frozenset(statement(context).stems))


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("PaymentGateway retries failed charges three times, waiting 30 s before each attempt.", PASSAGE),
        ("Before each attempt PaymentGateway waits 30 seconds.", PASSAGE),
        ("The gateway is called by OrderService.", "OrderService calls the gateway."),
        ("The zone holds 6,100 card numbers.", "The zone holds 6100 card numbers, all of them encrypted."),
    ],
)
def test_a_rewording_is_supported(sentence: str, passage: str) -> None:
    assert measure(sentence, passage) >= THRESHOLD


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("PaymentGateway retries a failed charge 4 times and waits 30 seconds before each attempt.", PASSAGE),
        ("PaymentGateway retries a failed charge 3 times and waits 30 minutes before each attempt.", PASSAGE),
        ("PaymentAdapter retries a failed charge 3 times and waits 30 seconds before each attempt.", PASSAGE),
        ("PaymentGateway never retries a failed charge 3 times before each attempt.", PASSAGE),
        ("PaymentGateway doesn't wait 30 seconds before each attempt.", PASSAGE),
        ("Latency increased in the zone during the night.", "Latency decreased in the zone during the night."),
        ("OrderService sends invoices to PaymentAdapter.", "PaymentAdapter sends invoices to OrderService."),
        ("The release went to the Lisbon card zone.", "The release went to the Porto card zone."),
        ("Retries.", PASSAGE),
        ("The harbour is open on Sundays in the summer season.", PASSAGE),
        ("", PASSAGE),
    ],
)
def test_what_the_passage_does_not_say_is_not_supported(sentence: str, passage: str) -> None:
    assert measure(sentence, passage) < THRESHOLD


def test_a_name_may_come_from_the_context() -> None:
    sentence, passage = "The Gateway runs two replicas in its network zone.", "It runs 2 replicas in its network zone."
    assert measure(sentence, passage) < THRESHOLD
    assert measure(sentence, passage, context="Gateway") >= THRESHOLD


def test_the_same_words_are_wholly_similar() -> None:
    assert measure(PASSAGE) == pytest.approx(1.0, abs=0.01)
