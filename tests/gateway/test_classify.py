"""What a question gives away: types, names and cues, on a labelled set and on the cases that must never slip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanemesh.v1.search_pb2 import SearchRequest

from gateway import route
from gateway.classify import classify
from services.runtime.registry import load_table

QUESTIONS = [
    json.loads(line) for line in Path(__file__).with_name("questions.jsonl").read_text(encoding="utf-8").splitlines()
]
EVERY_LANE = load_table().only(set(load_table().lanes))


def primary(query: str) -> str:
    return (classify(query).types or ("",))[0]


def lanes(question: dict[str, Any]) -> set[str]:
    chosen = route.choose(
        SearchRequest(query=question["query"]), classify(question["query"]), question["mode"], EVERY_LANE
    )
    return set(chosen) - {route.PREFLIGHT}


def test_the_primary_type_is_right_for_nine_in_ten() -> None:
    right = [primary(each["query"]) in (each["type"], *each["also"]) for each in QUESTIONS]
    assert len(right) >= 200
    assert sum(right) / len(right) >= 0.90


def test_the_lanes_are_right_for_nineteen_in_twenty() -> None:
    right = [set(each["lanes"]) <= lanes(each) <= {*each["lanes"], *each["optional"]} for each in QUESTIONS]
    assert sum(right) / len(right) >= 0.95


@pytest.mark.parametrize(
    ("query", "types"),
    [
        ("What patterns do other teams use for customer tables?", ("cross_project", "pattern")),
        ("How does OrderService connect to PaymentGateway?", ("relationship",)),
        ("Find code similar to this error handling pattern", ("similarity", "pattern")),
        ("What is CustomerService?", ("entity_lookup",)),
        ("What calls the service that uses Customer?", ("multi_hop", "relationship")),
        ("What does our CLAUDE.md say about tests?", ("local_only", "entity_lookup")),
        ("How do teams handle retries?", ("pattern",)),
        ("Statins lower the risk of stroke in elderly patients", ()),
        ("0-dimensional biomaterials show inductive properties.", ()),
        ("we show sofas in a showroom", ()),
    ],
)
def test_types_stand_primary_first(query: str, types: tuple[str, ...]) -> None:
    assert classify(query).types == types


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("How does OrderService connect to PaymentGateway?", ("OrderService", "PaymentGateway")),
        ("who wrote billing.customers and retry_policy", ("billing.customers", "retry_policy")),
        ("Does the Bank of England own Barclays?", ("Bank of England", "Barclays")),
        ("what does `vh-retry` do", ("vh-retry",)),
        ("films with Tom Hanks's brother", ("Tom Hanks",)),
        ("How do I deploy?", ()),
        ("PLEASE HELP ME DEPLOY THIS", ()),
        ("see INC-2025-018 on Monday", ("INC-2025-018",)),
    ],
)
def test_names_are_found_as_written(query: str, names: tuple[str, ...]) -> None:
    assert classify(query).entities == names


@pytest.mark.parametrize(
    ("query", "news", "finance"),
    [
        ("latest news on $TSLA", True, True),
        ("what happened today", True, False),
        ("EUR/USD", False, True),
        ("share price of Nokia", False, True),
        ("is this a breaking change", False, False),
        ("livestock and supermarkets", False, False),
        ("marketing in the newsroom", False, False),
    ],
)
def test_news_and_finance_cues_are_whole_words(query: str, news: bool, finance: bool) -> None:
    classified = classify(query)
    assert (classified.news, classified.finance) == (news, finance)


def test_the_phrases_that_led_there_are_told() -> None:
    assert classify("What other projects use Kafka? Latest news?").cues == ("what other projects", "latest")


def test_pasted_material_says_nothing_about_the_question() -> None:
    pasted = "find tickets that match this one: app breaks when other teams call the service that uses it"
    assert primary(pasted) == "similarity"


@given(st.text(max_size=400))
def test_any_text_is_classified(text: str) -> None:
    classified = classify(text)
    assert set(classified.types) <= set(EVERY_LANE.routing.types)
    assert len(classified.types) == len(set(classified.types))
    assert all(classified.entities)
