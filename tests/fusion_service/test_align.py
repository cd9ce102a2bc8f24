"""Any text against any documents."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.fusion_pb2 import AlignRequest, MarkerStyle

from fusion_service.align import align
from fusion_service.similarity import THRESHOLD
from services.runtime.errors import InvalidRequest
from tests.fusion_service.samples import SENTENCES

DOCUMENTS = [
    Document(id="a", content="Zürich. PaymentGateway retries a failed charge three times.", title="Retries"),
    Document(id="b", content="The orders table has 12 columns. A nightly job cleans it."),
]
TEXT = """# Summary
PaymentGateway retries failed charges 3 times. The orders table has 12 columns.

- The orders table has 15 columns.
"""


def request(text: str = TEXT, **fields: Any) -> AlignRequest:
    return AlignRequest(text=text, documents=fields.pop("documents", DOCUMENTS), **fields)


def test_each_sentence_is_cited_or_marked_unsupported() -> None:
    response = align(request())
    assert [(s.supported, [c.document_id for c in s.citations]) for s in response.sentences] == [
        (True, ["a"]),
        (True, ["b"]),
        (False, []),
    ]
    assert [entry.id for entry in response.bibliography] == ["a", "b"]


def test_the_text_keeps_its_form_and_gains_markers() -> None:
    assert align(request()).text == TEXT.replace("3 times.", "3 times. [1]").replace("12 columns.", "12 columns. [2]")
    assert align(request(marker_style=MarkerStyle.MARKER_STYLE_NONE)).text == TEXT


def test_the_threshold_and_the_number_of_citations_are_the_callers() -> None:
    text = "PaymentGateway retries a failed charge three times."
    copies = [Document(id=str(place), content=f"{text} Number {place}.") for place in range(5)]
    assert len(align(request(text, documents=copies)).sentences[0].citations) == 3
    assert len(align(request(text, documents=copies, max_citations=1)).sentences[0].citations) == 1
    loose = "PaymentGateway retries a charge on Sundays in summer."
    assert not align(request(loose)).sentences[0].supported
    assert align(request(loose, min_similarity=0.1)).sentences[0].supported


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": " \n"}, "text"),
        ({"text": "x" * 100_001}, "text"),
        ({"documents": []}, "documents"),
        ({"documents": [Document(id=str(place)) for place in range(501)]}, "documents"),
        ({"documents": [Document(id="a"), Document()]}, "documents[1].id"),
        ({"documents": [Document(id="a"), Document(id="a")]}, "documents[1].id"),
        ({"max_citations": 4}, "max_citations"),
        ({"max_citations": -1}, "max_citations"),
        ({"min_similarity": 1.5}, "min_similarity"),
        ({"min_similarity": math.nan}, "min_similarity"),
        ({"marker_style": 9}, "marker_style"),
    ],
)
def test_bad_input_names_the_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        align(request(**fields))
    assert caught.value.field == field


prose = st.lists(st.sampled_from(SENTENCES) | st.text(max_size=40), min_size=1, max_size=6).map(" ".join)


@given(prose.filter(str.strip), st.lists(prose, min_size=1, max_size=4))
def test_every_citation_points_to_its_passage(text: str, contents: list[str]) -> None:
    documents = [Document(id=str(place), content=content) for place, content in enumerate(contents)]
    response = align(request(text, documents=documents))
    markers = {entry.marker: entry.id for entry in response.bibliography}
    for sentence in response.sentences:
        assert sentence.supported == bool(sentence.citations)
        for citation in sentence.citations:
            content = contents[int(citation.document_id)]
            assert content[citation.start : citation.end] == citation.passage
            assert content.encode()[citation.start_byte : citation.end_byte] == citation.passage.encode()
            assert THRESHOLD <= citation.similarity <= 1.0
            assert markers[citation.marker] == citation.document_id
