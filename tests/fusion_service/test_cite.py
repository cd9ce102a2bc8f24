"""Support for sentences."""

from __future__ import annotations

from hashlib import sha256

from lanemesh.v1.fusion_pb2 import Sentence

from fusion_service.bibliography import Bibliography
from fusion_service.cite import Support, quotation, write
from fusion_service.passages import index, statement
from tests.fusion_service.samples import source

TEXT = "PaymentGateway retries a failed charge three times."


def test_a_quotation_cites_itself_then_other_documents_that_say_the_same() -> None:
    found = index(
        [
            source("a", f"{TEXT} PaymentGateway retries failed charges 3 times, always."),
            source("b", "A failed charge: PaymentGateway retries it three times."),
            source("c", "PaymentGateway retries a failed charge 5 times."),
            source("d", f"Intro words. {TEXT}"),
            source("e", f"More intro. {TEXT} And on."),
        ]
    )
    matches = quotation(found.passages[0], found)
    assert [(m.passage.source.document.id, m.method) for m in matches] == [
        ("a", "exact"),
        ("d", "exact"),
        ("e", "exact"),
    ]
    assert all(match.similarity == 1.0 for match in matches)


def test_any_sentence_is_supported_by_the_best_passage_of_each_document() -> None:
    found = index([source("a", f"Other words. {TEXT}"), source("b", "PaymentGateway retries a failed charge 5 times.")])
    matches = Support(found).of(statement("PaymentGateway retries failed charges 3 times."))
    assert [(match.passage.text, match.method) for match in matches] == [(TEXT, "lexical")]
    assert Support(found).of(statement("The harbour opens on Sundays.")) == []


def test_two_neighbouring_sentences_may_support_one() -> None:
    content = "PaymentGateway retries failed charges. It waits 30 seconds before each attempt. Else."
    sentence = statement("PaymentGateway retries failed charges and waits 30 seconds before each attempt.")
    (match,) = Support(index([source("a", content)])).of(sentence)
    assert match.passage.text == content.removesuffix(" Else.")


def test_sharing_nothing_supports_nothing_at_any_threshold() -> None:
    assert Support(index([source("a", TEXT)]), least=0.0).of(statement("Blue walls.")) == []


def test_a_citation_points_to_the_character_and_byte() -> None:
    content = f"Zürich 😀 opens. {TEXT}"
    target = Sentence()
    write(Support(index([source("a", content)])).of(statement(TEXT)), Bibliography(), target)
    (citation,) = target.citations
    assert target.supported
    assert content[citation.start : citation.end] == citation.passage == TEXT
    assert content.encode()[citation.start_byte : citation.end_byte] == TEXT.encode()
    assert citation.sha256 == sha256(TEXT.encode()).hexdigest()
    assert (citation.marker, citation.document_id, citation.similarity, citation.method) == (1, "a", 1.0, "exact")
