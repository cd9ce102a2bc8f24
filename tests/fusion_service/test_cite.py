"""Support for sentences."""

from __future__ import annotations

from hashlib import sha256

from lanemesh.v1.fusion_pb2 import Sentence

from fusion_service.bibliography import Bibliography
from fusion_service.cite import quotation, support, write
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
    matches = support(statement("PaymentGateway retries failed charges 3 times."), found)
    assert [(match.passage.text, match.method) for match in matches] == [(TEXT, "lexical")]
    assert support(statement("The harbour opens on Sundays."), found) == []


def test_two_neighbouring_sentences_may_support_one() -> None:
    content = "PaymentGateway retries failed charges. It waits 30 seconds before each attempt. Else."
    sentence = statement("PaymentGateway retries failed charges and waits 30 seconds before each attempt.")
    (match,) = support(sentence, index([source("a", content)]))
    assert match.passage.text == content.removesuffix(" Else.")


def test_sharing_nothing_supports_nothing_at_any_threshold() -> None:
    assert support(statement("Blue walls."), index([source("a", TEXT)]), least=0.0) == []


def test_a_citation_points_to_the_character_and_byte() -> None:
    content = f"Zürich 😀 opens. {TEXT}"
    target = Sentence()
    write(support(statement(TEXT), index([source("a", content)])), Bibliography(), target)
    (citation,) = target.citations
    assert target.supported
    assert content[citation.start : citation.end] == citation.passage == TEXT
    assert content.encode()[citation.start_byte : citation.end_byte] == TEXT.encode()
    assert citation.sha256 == sha256(TEXT.encode()).hexdigest()
    assert (citation.marker, citation.document_id, citation.similarity, citation.method) == (1, "a", 1.0, "exact")
