"""Names and text compare equal however they are written, and words stand where they stood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kg.sentences import phrase_of
from services.kg.vocabulary import meanings, stem, telling
from services.kg.words import key_of, keys_of_name, words_of


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("PaymentGateway", "payment gateways"),
        ("payment_gateway", "Payment-Gateway's"),
        ("Ångström", "angstrom"),
        ("Schindler's List", "schindlers list"),
        ("Fast & Furious", "fast and furious"),
        ("billing.customers", "Billing customer"),
        ("HTTPServer", "http server"),
        ("Movies", "movie"),
        ("O’Brien", "O'BRIEN"),
        ("Episode V - The Empire", "episode v: the empire"),
    ],
)
def test_equal_names(left: str, right: str) -> None:
    assert key_of(words_of(left)) == key_of(words_of(right))


def test_a_name_has_several_keys() -> None:
    assert keys_of_name("The DataStore") == {"the data store": False, "the datastore": False, "data store": True}
    assert keys_of_name("$") == {"$": False}
    assert keys_of_name("\x00") == {}
    assert keys_of_name("東京 Tower") == {"東 京 tower": False, "東京 tower": False}


@given(st.text(max_size=60))
def test_words_stand_where_they_stood(text: str) -> None:
    for word in words_of(text):
        assert text[word.start : word.end] == word.surface
        assert word.text
    assert all(key.strip() and "\x00" not in key for key in keys_of_name(text))


@pytest.mark.parametrize(
    ("left", "right"),
    [("directed", "director"), ("starring", "stars"), ("depends", "dependency"), ("implementation", "implements")],
)
def test_stems(left: str, right: str) -> None:
    assert stem(left) == stem(right)


def test_meanings_are_shared_by_words_of_one_sense_only() -> None:
    assert meanings("wrote") & meanings("author")
    assert not meanings("wrote") & meanings("director")
    assert not meanings("zyzzyva")


def test_stop_words_alone_tell_nothing() -> None:
    assert telling("when we were king")
    assert not telling("it")


@pytest.mark.parametrize(
    ("relation", "phrase"),
    [
        ("CALLS", "calls"),
        ("directed_by", "is directed by"),
        ("has_genre", "has genre"),
        ("PART_OF", "is part of"),
        ("release_year", "has release year"),
        ("SUBSCRIBES_TO", "subscribes to"),
        ("dependsOn", "depends on"),
        ("!", "has !"),
    ],
)
def test_relations_as_verbs(relation: str, phrase: str) -> None:
    assert phrase_of(relation) == phrase
