"""Words that mean the same meet in one term."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.local.terms import stem, terms


@pytest.mark.parametrize(
    "family",
    [
        "cache caches cached caching",
        "query queries",
        "retry retries retried retrying",
        "deploy deploys deployed deploying deployment deployments",
        "migrate migrates migrated migrating migration migrations",
        "connect connected connection connections",
        "run runs running",
        "class classes",
        "service services",
    ],
)
def test_forms_of_a_word_share_a_stem(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize("word", ["string", "bus", "status", "analysis", "class", "red", "http2"])
def test_words_that_only_look_inflected_stay(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(
    ("word", "parts", "whole"),
    [
        ("OrderService", ("order", "servic"), "orderservice"),
        ("order_service", ("order", "servic"), "orderservice"),
        ("HTTPServer", ("http", "server"), "httpserver"),
        ("isValid", ("valid",), "isvalid"),
        ("_private", ("privat",), ""),
        ("The", (), ""),
        ("Café", ("caf",), ""),
        ("Cafe\u0301", ("caf",), ""),
        ("東京都", ("東京", "京都"), ""),
        ("API設計", ("api", "設計"), ""),
    ],
)
def test_terms_of_a_word(word: str, parts: tuple[str, ...], whole: str) -> None:
    found = terms(word)
    assert (found.parts, found.whole) == (parts, whole)


@given(st.text())
def test_any_word_has_terms_without_blanks(word: str) -> None:
    assert all(terms(word))
