"""The cited documents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fusion_service.bibliography import EXCERPT, Bibliography, excerpt, readable
from tests.fusion_service.samples import source


def test_sources_are_numbered_in_order_of_first_citation() -> None:
    one, other, bibliography = source("a", "A."), source("b", "B."), Bibliography()
    assert [bibliography.marker(cited) for cited in (other, one, other)] == [1, 2, 1]
    assert [(entry.marker, entry.id) for entry in bibliography.entries()] == [(1, "b"), (2, "a")]


def test_an_entry_says_what_the_document_says() -> None:
    bibliography = Bibliography()
    document = source("a", "Some\n text.", url="https://en.wikipedia.org/x", author="Ada", licence="CC BY")
    document.document.published_at.seconds = 7
    bibliography.marker(document)
    (entry,) = bibliography.entries()
    assert (entry.title, entry.domain, entry.author, entry.licence) == ("a", "wikipedia.org", "Ada", "CC BY")
    assert (entry.excerpt, entry.published_at.seconds, entry.label) == ("Some text.", 7, "document:a")


def test_excerpts_are_cut_between_words() -> None:
    assert excerpt("word " * 100) == "word " * 39 + "word…"
    assert len(excerpt("x" * 500)) == EXCERPT


@given(st.text(max_size=1_000))
def test_excerpts_are_short_and_readable(text: str) -> None:
    assert len(excerpt(text)) <= EXCERPT
    assert not set(excerpt(text)) & set(map(chr, range(32)))


def test_control_characters_do_not_reach_the_reader() -> None:
    assert readable("a\x00 \x1b[31mb\n\u202ec") == "a [31mb c"
