"""What a query asks about."""

from __future__ import annotations

from fusion_service.passages import index
from fusion_service.question import ask
from fusion_service.tokens import stems
from tests.fusion_service.samples import source


def test_terms_are_the_content_words_as_written() -> None:
    assert list(ask("How does the OrderService connect to Redis?", []).terms.values()) == [
        "OrderService",
        "connect",
        "Redis",
    ]


def test_joined_and_separate_spellings_meet() -> None:
    assert ask("payment gateway", []).hits(set(stems("The PaymentGateway"))) == {"payment", "gateway"}
    assert ask("PaymentGateway", []).hits(set(stems("our payment gateway"))) == {"paymentgateway"}


def test_rare_terms_weigh_more_and_phrasing_less() -> None:
    found = index([source("a", "The gateway retries. The gateway waits. The gateway stops.")])
    weights = ask("explain the gateway retry", []).weights(found)
    assert weights["retry"] > weights["gateway"] > 0
    assert weights["retry"] > weights["explain"]


def test_missing_names_subjects_that_nothing_speaks_to() -> None:
    found = index([source("a", "The gateway retries.", title="Timeouts")])
    question = ask("explain gateway timeouts for Kafka", ["OrderService"])
    assert question.missing(found) == ['Nothing found about "Kafka".', 'Nothing found about "OrderService".']


def test_every_text_that_speaks_to_a_term_contains_a_needle() -> None:
    needles = ask("try retries two 6100 stored PaymentGateway", []).needles()
    for text in ("tries", "retried", "2", "6,100", "storing", "payment gateway", "two"):
        assert any(needle in text for needle in needles)


def test_a_query_of_stop_words_or_symbols_has_no_terms() -> None:
    assert ask("what is it?! \x00 ...", []).terms.keys() <= {"\x00"}
