"""A passage is a stretch of the content, and its offsets say exactly which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.local.passage import MAX_PASSAGE, best_passage, span
from services.local.score import Query


def passage(content: str, query: str) -> str | None:
    found = best_passage(content, dict.fromkeys(Query.of(query).words, 1.0))
    return content[slice(*found)] if found else None


def test_the_sentence_that_holds_most_of_the_words_begins_it() -> None:
    filler = "Nothing of interest stands here. " * 20
    content = f"A refund is money. {filler}\nThe order gets a refund. It takes a day.\n\n{filler}"
    found = passage(content, "order refund")
    assert found is not None
    assert found.startswith("The order gets a refund. It takes a day.")
    assert len(found) <= MAX_PASSAGE


def test_a_long_sentence_stays_whole() -> None:
    content = "refund " * 100
    assert passage(content, "refund") == content.strip()


def test_no_word_no_passage() -> None:
    assert passage("text", "refund") is None
    assert passage("", "refund") is None
    assert passage(" \n ", "refund") is None


ALPHABET = st.sampled_from(["order", "refund", "é", "漢字", "😀", ". ", "\n", "\n\n", " ", "# ", "\r\n"])


@given(st.lists(ALPHABET, max_size=80).map("".join))
def test_offsets_in_characters_and_bytes_name_the_same_stretch(content: str) -> None:
    found = best_passage(content, {"order": 1.0, "refund": 2.0})
    assert (found is None) == ("order" not in passage_words(content) and "refund" not in passage_words(content))
    if found:
        place = span(content, *found)
        stretch = content[place.start : place.end]
        assert stretch == stretch.strip() != ""
        assert content.encode()[place.start_byte : place.end_byte].decode() == stretch


def passage_words(content: str) -> set[str]:
    return set(Query.of(content).words)
