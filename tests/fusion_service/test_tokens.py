"""Text to comparable words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusion_service.tokens import normal, number, stems, stems_of


@pytest.mark.parametrize(
    "forms",
    [
        "retry retries retried retrying",
        "store stores stored storing",
        "cache caches cached caching",
        "run runs running",
        "process processes processed processing",
        "control controls controlled controlling",
        "service services service's",
        "Gateway gateway, (gateway)",
    ],
)
def test_forms_of_a_word_are_one(forms: str) -> None:
    assert len(set(stems(forms))) == 1


@pytest.mark.parametrize("pair", ["bus bush", "fall fail", "user_id user", "status state", "1.8 18"])
def test_different_words_stay_apart(pair: str) -> None:
    assert len(set(stems(pair))) == 2


def test_stop_words_and_punctuation_carry_nothing() -> None:
    assert stems("What is the (very) one — of it?") == []


@pytest.mark.parametrize(
    ("written", "plain"), [("6,100", "6100"), ("1.50", "1.5"), ("06", "6"), ("0", "0"), ("1.2.3", "1.2.3")]
)
def test_numbers_have_one_spelling(written: str, plain: str) -> None:
    assert number(written) == plain


def test_number_words_are_numbers() -> None:
    assert stems("three replicas") == stems("3 replicas")


def test_scripts_without_spaces_are_read_by_character() -> None:
    assert set(stems("支付网关")) == set("支付网关")


def test_composed_and_decomposed_letters_are_the_same() -> None:
    assert normal("café") == normal("cafe\u0301")


@given(st.text())
def test_reading_by_stretches_agrees_with_reading_alone(text: str) -> None:
    assert stems_of(text, [(0, len(text)), (0, 3)]) == [stems(text), stems(text[:3])]
