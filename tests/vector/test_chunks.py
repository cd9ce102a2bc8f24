"""Chunks cover the document, respect its sentences and headings, and keep to the length asked for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanemesh.v1.evidence_pb2 import Document

from services.vector.chunks import chunks_of, weight

SENTENCES = [f"Sentence number {number} says something of its own." for number in range(60)]


def test_short_document_is_one_chunk_under_its_title() -> None:
    (chunk,) = chunks_of(Document(title="Cats", content="They sleep."), 200)
    assert (chunk.start, chunk.end, chunk.text) == (0, 11, "Cats\nThey sleep.")


def test_chunks_are_whole_sentences_and_overlap_by_one() -> None:
    content = " ".join(SENTENCES)
    chunks = chunks_of(Document(content=content), 100)
    assert len(chunks) > 4
    for chunk in chunks:
        assert content[chunk.start : chunk.end] == chunk.text
        assert chunk.text.startswith("Sentence")
        assert chunk.text.endswith("own.")
        assert weight(chunk.text) <= 100
    for before, after in pairwise(chunks):
        assert content[after.start : before.end] in SENTENCES


def test_headings_begin_chunks_and_stand_above_them() -> None:
    body = " ".join(SENTENCES[:5])
    content = f"# Guide\n\n{body}\n\n## Setup\n\n{body}\n\n### Linux\n\n{body}\n\n## Use\n\n{body}"
    texts = [chunk.text for chunk in chunks_of(Document(title="Manual", content=content), 100)]
    prefixes = [text.partition("\n")[0] for text in texts]
    assert prefixes == [
        "Manual > Guide",
        "Manual > Guide > Setup",
        "Manual > Guide > Setup > Linux",
        "Manual > Guide > Use",
    ]


def test_short_sections_stay_together() -> None:
    (chunk,) = chunks_of(Document(content="# A\n\nOne.\n\n# B\n\nTwo."), 200)
    assert chunk.text.endswith("Two.")


@pytest.mark.parametrize("content", ["x" * 5_000, "日本語" * 2_000, "word " * 3_000, "a, " * 2_000])
def test_what_has_no_sentences_is_cut_all_the_same(content: str) -> None:
    chunks = chunks_of(Document(title="t" * 900, content=content), 100)
    assert len(chunks) > 5
    assert all(weight(chunk.text) <= 110 for chunk in chunks)
    assert "".join(content[chunk.start : chunk.end] for chunk in chunks).replace(" ", "") == content.replace(" ", "")


@pytest.mark.parametrize("content", ["   ", "***", "\n"])
def test_never_none(content: str) -> None:
    (chunk,) = chunks_of(Document(content=content, title="T"), 100)
    assert (chunk.start, chunk.end, chunk.text) == (0, len(content), "T")


@given(st.text(alphabet="ab .#\n-|é🙂", max_size=300), st.integers(8, 40))
def test_every_word_is_in_a_chunk(content: str, length: int) -> None:
    chunks = chunks_of(Document(content=content), length)
    covered = {place for chunk in chunks for place in range(chunk.start, chunk.end)}
    assert all(place in covered for place, letter in enumerate(content) if letter in "abé🙂")
    assert [chunk.start for chunk in chunks] == sorted(chunk.start for chunk in chunks)
