"""Citations re-checked."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.fusion_pb2 import Citation, Verdict, VerdictStatus, VerifyRequest

from fusion_service.align import align
from fusion_service.verify import verify
from services.runtime.errors import InvalidRequest
from tests.fusion_service.test_align import DOCUMENTS, request

PASSAGE = "retries twice"


def citation(**fields: Any) -> Citation:
    known = {"document_id": "a", "passage": PASSAGE, "start": 3, "end": 16, "start_byte": 4, "end_byte": 17}
    return Citation(**{**known, "sha256": sha256(PASSAGE.encode()).hexdigest(), **fields})


def verdict(content: str, **fields: Any) -> Verdict:
    (found,) = verify(
        VerifyRequest(citations=[citation(**fields)], documents=[Document(id="a", content=content)])
    ).verdicts
    return found


def test_a_passage_still_in_its_place_holds() -> None:
    found = verdict("Zü retries twice.")
    assert found.status == VerdictStatus.VERDICT_STATUS_HOLDS
    assert (found.span.start, found.span.end, found.span.start_byte, found.span.end_byte) == (3, 16, 4, 17)


def test_a_citation_kept_without_bytes_and_hash_can_hold() -> None:
    assert (
        verdict("Zü retries twice.", start_byte=0, end_byte=0, sha256="").status == VerdictStatus.VERDICT_STATUS_HOLDS
    )


@pytest.mark.parametrize(
    ("content", "start"),
    [
        ("Now Zü retries twice.", 7),
        ("retries twice.", 0),
        ("retries twice or it retries twice, retries twice", 0),
        (f"{'x' * 40} retries twice", 41),
    ],
)
def test_a_passage_elsewhere_has_moved_to_the_nearest_place(content: str, start: int) -> None:
    found = verdict(content)
    assert found.status == VerdictStatus.VERDICT_STATUS_MOVED
    assert found.span.start == start
    assert content[found.span.start : found.span.end] == PASSAGE


def test_wrong_bytes_do_not_hold() -> None:
    assert verdict("Zü retries twice.", start_byte=3, end_byte=16).status == VerdictStatus.VERDICT_STATUS_MOVED


@pytest.mark.parametrize("start", [-5, 0, 10_000, 2**31 - 1])
def test_a_wild_offset_is_only_a_move(start: int) -> None:
    assert verdict("Zü retries twice.", start=start).status == VerdictStatus.VERDICT_STATUS_MOVED


def test_a_changed_source() -> None:
    found = verdict("Zü retries thrice.")
    assert found.status == VerdictStatus.VERDICT_STATUS_SOURCE_CHANGED
    assert not found.HasField("span")


def test_a_document_not_given() -> None:
    assert verdict("x", document_id="b").status == VerdictStatus.VERDICT_STATUS_DOCUMENT_MISSING


@pytest.mark.parametrize("fields", [{"sha256": "0" * 64}, {"passage": ""}, {"passage": "forged"}])
def test_a_citation_that_contradicts_itself(fields: dict[str, str]) -> None:
    assert verdict("Zü retries twice.", **fields).status == VerdictStatus.VERDICT_STATUS_INVALID


def test_what_align_cites_holds() -> None:
    cited = [citation for sentence in align(request()).sentences for citation in sentence.citations]
    verdicts = verify(VerifyRequest(citations=cited, documents=DOCUMENTS)).verdicts
    assert [found.status for found in verdicts] == [VerdictStatus.VERDICT_STATUS_HOLDS] * len(cited) != []


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (VerifyRequest(documents=[Document(id="a")]), "citations"),
        (VerifyRequest(citations=[Citation()] * 1_001, documents=[Document(id="a")]), "citations"),
        (VerifyRequest(citations=[Citation()]), "documents"),
        (VerifyRequest(citations=[Citation()], documents=[Document(id="a")] * 2), "documents[1].id"),
    ],
)
def test_bad_input_names_the_field(bad: VerifyRequest, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        verify(bad)
    assert caught.value.field == field
