"""Ranking is pure: postings and a query in, an order out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.local.score import Fields, Query, Ranking, post, rank


def order(query: str, *sections: Fields, limit: int = 10) -> list[int]:
    return [hit.section for hit in rank(Query.of(query), [post(sections)], limit).hits]


def test_a_heading_beats_a_mention() -> None:
    assert order("deploy", Fields("we deploy on Fridays"), Fields("we ship on Fridays", "Deploy")) == [1, 0]


def test_a_path_matches_weakly() -> None:
    assert order("billing", Fields("text", "", "docs/billing.md"), Fields("billing text")) == [1, 0]


def test_covering_the_question_beats_repetition() -> None:
    assert order("order refund", Fields("order order order order"), Fields("the order has a refund")) == [1, 0]


def test_rare_words_weigh_more() -> None:
    common = [Fields("service text") for _ in range(5)]
    assert order("service quota", *common, Fields("quota text"))[0] == 5


def test_identifiers_and_words_meet_both_ways() -> None:
    assert order("order service", Fields("class OrderService"), Fields("nothing")) == [0]
    assert order("OrderService", Fields("the order service"), Fields("nothing")) == [0]
    assert order("OrderService", Fields("order service"), Fields("order_service")) == [1, 0]


def test_a_long_question_needs_more_than_one_word() -> None:
    question = "which retry policy protects payment gateway calls"
    assert order(question, Fields("the gateway page"), Fields("the retry policy")) == [1]


def test_stop_words_alone_find_nothing() -> None:
    assert order("what is the", Fields("what is the matter")) == []


def test_equal_sections_keep_their_order_and_the_limit_holds() -> None:
    sections = [Fields("same text") for _ in range(4)]
    ranking = rank(Query.of("text"), [post(sections[:2]), post(sections[2:])], 3)
    assert [(hit.file, hit.section) for hit in ranking.hits] == [(0, 0), (0, 1), (1, 0)]
    assert ranking.total == 4


def test_nothing_to_search() -> None:
    assert rank(Query.of("text"), [], 5).hits == ()
    assert rank(Query.of("text"), [post([]), post([Fields("")])], 5).hits == ()


WORDS = st.lists(st.sampled_from(["order", "OrderService", "refund", "the", "quota", "漢字"]), max_size=30).map(
    " ".join
)


@given(WORDS, st.lists(st.builds(Fields, WORDS, WORDS, WORDS), max_size=8))
def test_confidence_is_a_share_and_scores_fall(query: str, sections: list[Fields]) -> None:
    ranking: Ranking = rank(Query.of(query), [post(sections)], 100)
    assert all(0 < hit.confidence <= 1 for hit in ranking.hits)
    assert [hit.score for hit in ranking.hits] == sorted((hit.score for hit in ranking.hits), reverse=True)
    assert ranking.total == len(ranking.hits)
