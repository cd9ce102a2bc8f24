"""Passages that bear on a sentence in other words, and those that only share some."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.fusion_pb2 import AlignRequest, Citation

from fusion_service.align import align

CLAIMS = Path(__file__).parents[3] / "shared" / "data" / "scifact_claims" / "claims.jsonl"
STUDY = (
    "We aimed to assess whether statins change the risk of dementia in older adults. "
    "Statin treatment was associated with fewer diagnoses of dementia in 4200 older patients from Norway. "
    "Lunch was served at noon."
)


def cited(text: str, content: str = STUDY, title: str = "") -> list[Citation]:
    reply = align(AlignRequest(text=text, documents=[Document(id="d", title=title, content=content)]))
    return [citation for sentence in reply.sentences for citation in sentence.citations]


def test_other_words_for_the_same_are_cited() -> None:
    found = cited("Treating older people with statins lowers the risk of dementia.")
    assert {citation.method for citation in found} == {"mixed"}
    assert "Statin treatment was associated" in found[0].passage
    assert all(citation.similarity >= 0.7 for citation in found)


@pytest.mark.parametrize(
    "text",
    [
        "Treating older people with statins for 12 years lowers the risk of dementia.",
        "Treating older Canadians in Toronto with statins lowers the risk of dementia.",
        "The harbour master inspects every vessel on arrival.",
    ],
)
def test_numbers_names_and_subjects_the_source_does_not_have_are_not_supported(text: str) -> None:
    assert cited(text) == []


def test_almost_the_same_words_that_deny_are_not_support() -> None:
    assert cited("Statin treatment was not associated with fewer diagnoses of dementia in older patients.") == []


def test_scientific_claims_against_their_abstracts() -> None:
    if not CLAIMS.is_file():
        pytest.skip(f"the claims are not at {CLAIMS}")
    hits, uncited = [], []
    for row in map(json.loads, CLAIMS.read_text(encoding="utf-8").splitlines()):
        content = " ".join(row["sentences"])
        found = cited(row["claim"], content, row["title"])
        assert all(content[one.start : one.end] == one.passage for one in found)
        if row["label"] == "NONE":
            uncited.append(not found)
        else:
            gold = [row["sentences"][number] for number in row["evidence"]]
            hits.append(any(one.passage in sentence or sentence in one.passage for one in found for sentence in gold))
    assert sum(hits) / len(hits) >= 0.75
    assert sum(uncited) / len(uncited) >= 0.65
