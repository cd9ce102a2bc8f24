"""Passages: pure sums over a text and the places of its matched words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.keyword.passage import best_passage, matches_in, stems_of

TEXT = st.text(alphabet="aé🙂. \n", max_size=800)


def test_forms_of_a_word_are_found_at_word_starts() -> None:
    content = "Studies of kinases; a prokinase. STUDYING 🙂 kinase"
    assert [content[start:end] for start, end, _ in matches_in(content, stems_of(["kinase", "studying"]))] == [
        "Studies",
        "kinases",
        "STUDYING",
        "kinase",
    ]


def test_the_group_with_most_different_words_wins() -> None:
    content = "cat cat cat. " + "filler " * 80 + ". One cat and one dog. " + "filler " * 80
    span = best_passage(content, matches_in(content, ["cat", "dog"]))
    assert span is not None
    assert content[span.start : span.end] == "One cat and one dog."


def test_nothing_matched_has_no_passage() -> None:
    assert best_passage("text", []) is None


@given(TEXT, st.lists(st.sampled_from(["a", "é", "aé", "🙂"]), max_size=3))
def test_offsets_always_agree(content: str, words: list[str]) -> None:
    matches = matches_in(content, words)
    span = best_passage(content, matches)
    assert (span is None) == (not matches)
    if span is not None:
        assert 0 <= span.start <= span.end <= len(content)
        assert any(span.start <= start and end <= span.end for start, end, _ in matches)
        assert content.encode()[span.start_byte : span.end_byte].decode() == content[span.start : span.end]
