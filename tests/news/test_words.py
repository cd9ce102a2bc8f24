"""From a question to the words of a story."""

from __future__ import annotations

import pytest

from services.news.words import enough, keywords, roots


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("latest news on the canal lock", ["canal", "lock"]),
        ("What happened in Kenya today?", ["Kenya"]),
        ("canal Canal CANAL", ["canal"]),
        ("how will the EU tariffs affect German car makers", ["EU", "tariffs", "affect", "German"]),
        ("covid-19 cases in the U.S. rise", ["covid-19", "cases", "U.S", "rise"]),
        ('lock" OR (site:x) -gate', ["lock", "site", "x", "gate"]),
        ("运河 船闸", ["运河", "船闸"]),
        ("TO BE OR NOT TO BE", ["to", "be", "or", "not"]),
        (f"canal {'x' * 65}", ["canal"]),
        ("?!", []),
    ],
)
def test_keywords(query: str, words: list[str]) -> None:
    assert keywords(query, 4) == words


def test_names_and_numbers_come_before_long_words_and_the_order_stays() -> None:
    assert keywords("negotiations between Oslo and representatives about 1814", 2) == ["Oslo", "1814"]


def test_roots_ignore_case_possessive_and_plural() -> None:
    assert roots("The canal's Lock-gates, stories; glass") == {"the", "canal", "lock", "gate", "story", "glass"}


@pytest.mark.parametrize(("words", "needed"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (8, 6)])
def test_enough(words: int, needed: int) -> None:
    assert enough(words) == needed
