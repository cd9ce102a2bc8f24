"""Distance between words, held against the textbook definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.keyword.typo import edits_allowed, fold, letters, within

WORDS = st.text(alphabet="abc", max_size=7)


@pytest.mark.parametrize(
    ("word", "edits"), [("four", 0), ("fiver", 1), ("eightlet", 1), ("ninechars", 2), ("mp3player", 0)]
)
def test_edits_grow_with_the_word(word: str, edits: int) -> None:
    assert edits_allowed(word) == edits


@given(WORDS, WORDS, st.integers(0, 2))
def test_within_is_the_distance(left: str, right: str, edits: int) -> None:
    assert within(left, right, edits) == (_distance(left, right) <= edits)


@given(WORDS, WORDS)
def test_the_letter_test_rules_out_no_neighbour(left: str, right: str) -> None:
    assert (letters(left) ^ letters(right)).bit_count() <= 2 * _distance(left, right)


def test_fold_removes_accents_only() -> None:
    assert fold("élève") == "eleve"
    assert fold("한국") == "한국"


def _distance(left: str, right: str) -> int:
    """Optimal string alignment, by the whole table."""
    table = [
        [row + column if row * column == 0 else 0 for column in range(len(right) + 1)] for row in range(len(left) + 1)
    ]
    for row in range(1, len(left) + 1):
        for column in range(1, len(right) + 1):
            differs = left[row - 1] != right[column - 1]
            best = min(table[row - 1][column] + 1, table[row][column - 1] + 1, table[row - 1][column - 1] + differs)
            if row > 1 and column > 1 and left[row - 1] == right[column - 2] and left[row - 2] == right[column - 1]:
                best = min(best, table[row - 2][column - 2] + 1)
            table[row][column] = best
    return table[-1][-1]
