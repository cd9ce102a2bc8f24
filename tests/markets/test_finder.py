"""The entity finder on labelled queries, and the rules one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.markets import instruments
from services.markets.finder import find
from services.markets.instruments import COMPANY

QUERIES = Path(__file__).with_name("queries.txt")


def labelled() -> list[tuple[str, set[str]]]:
    lines = [line for line in QUERIES.read_text().splitlines() if line and not line.startswith("#")]
    parts = [line.rpartition("|") for line in lines]
    return [(query.strip(), set(labels.split())) for query, _, labels in parts]


def entities(query: str) -> set[str]:
    return {f"{found.entity.kind}:{found.entity.symbol}" for found in find(query)}


def test_precision_and_recall_on_labelled_queries() -> None:
    cases = [(expected, entities(query)) for query, expected in labelled()]
    right = sum(len(expected & found) for expected, found in cases)
    assert len(cases) >= 150
    assert right / sum(len(found) for _, found in cases) >= 0.97
    assert right / sum(len(expected) for expected, _ in cases) >= 0.9


@pytest.mark.parametrize(
    "query",
    [
        "what is a good price for IT in general",
        "ALL tests ARE green",
        "apple pie recipe",
        "amazon rainforest",
        "shell script",
        "target audience",
        "gap year",
        "",
        "$",
        "/ . : - $",
    ],
)
def test_nothing_is_read_into_ordinary_words(query: str) -> None:
    assert find(query) == []


def test_an_entity_says_where_it_stands_and_why() -> None:
    (found,) = find("Was kostet die Aktie? Nestlé stock, s'il vous plaît")
    assert (found.entity.mention, found.entity.kind, found.entity.symbol) == ("Nestlé", "COMPANY", "NSRGY")
    assert (found.start, found.end) == (22, 28)
    assert found.reason == "a known name"


def test_the_same_thing_twice_is_one_entity() -> None:
    assert entities("$AAPL AAPL $AAPL stock") == {"TICKER:AAPL"}


def test_entities_stand_in_the_order_of_the_query() -> None:
    found = find("gold price, EUR/USD, DAX index, $TSLA and Apple stock")
    assert [each.entity.symbol for each in found] == ["GOLD", "EUR/USD", "DAX", "TSLA", "AAPL"]


@pytest.mark.parametrize("ending", ["", "'s", "’s", " Inc", " Inc.", " Corporation"])
def test_possessives_and_legal_forms_do_not_matter(ending: str) -> None:
    assert entities(f"Microsoft{ending} stock") == {"COMPANY:MSFT"}


@pytest.mark.parametrize(
    ("query", "pair"),
    [
        ("yen per dollar", "USD/JPY"),
        ("dollars per euro", "EUR/USD"),
        ("how many yen to the dollar", "USD/JPY"),
        ("dollar to yen", "USD/JPY"),
        ("yen exchange rate", "USD/JPY"),
        ("euro exchange rate", "EUR/USD"),
    ],
)
def test_pairs_are_the_way_round_that_was_asked(query: str, pair: str) -> None:
    assert entities(query) == {f"CURRENCY:{pair}"}


def test_a_shouted_query_names_no_tickers_by_its_capitals() -> None:
    assert find("WHY ARE ALL OF MY TESTS NOT GREEN NOW") == []


def test_a_long_query_is_read_in_full() -> None:
    assert entities("lorem ipsum " * 800 + "$TSLA") == {"TICKER:TSLA"}


def test_the_files_hold_hundreds_of_companies_and_no_spelling_twice() -> None:
    assert len(instruments.by_symbol(COMPANY)) >= 300
    for index in (instruments.names(), instruments.currencies()):
        spellings = [(spelling.words, spelling.possessive) for group in index.values() for spelling in group]
        assert len(spellings) == len(set(spellings))
