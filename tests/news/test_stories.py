"""One story once, and the order of stories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from lanemesh.v1.evidence_pb2 import Evidence

from services.news.stories import fold, in_order

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
TITLE = "Canal lock at Merrow reopens"


def story(
    identity: str,
    title: str = TITLE,
    *,
    hours: float | None = 0,
    text: str = "",
    provider: str = "gdelt",
    score: float = 1.0,
) -> Evidence:
    evidence = Evidence(score=score, providers=[provider])
    evidence.document.id, evidence.document.url = identity, f"https://{identity}"
    evidence.document.title, evidence.document.content = title, text
    if hours is not None:
        evidence.document.published_at.FromDatetime(NOON + timedelta(hours=hours))
    return evidence


def ids(found: list[Evidence]) -> list[str]:
    return [evidence.document.id for evidence in found]


def test_the_same_words_on_near_days_are_one_story() -> None:
    (kept,) = fold([story("a.example/1"), story("b.example/2", f"{TITLE.upper()}!", hours=20, provider="rss")])
    assert kept.document.id == "a.example/1"
    assert list(kept.corroborated_by) == ["b.example/2"]
    assert list(kept.providers) == ["gdelt", "rss"]
    assert kept.score == 2.0


@pytest.mark.parametrize("paper", [" - The Daily Lock", " | Daily News", " – daily"])
def test_the_name_of_the_paper_is_no_part_of_the_headline(paper: str) -> None:
    assert len(fold([story("dailylock.example/1", TITLE + paper), story("b.example/2")])) == 1


@pytest.mark.parametrize(
    "other",
    [
        story("b.example/2", hours=72),
        story("b.example/2", hours=None),
        story("b.example/2", f"{TITLE} in 2027"),
        story("b.example/2", f"{TITLE} - after protests"),
        story("b.example/2", f"{TITLE} - a b c"),
    ],
    ids=["another week", "unknown day", "another number", "more words", "short words"],
)
def test_what_differs_stays_apart(other: Evidence) -> None:
    assert len(fold([story("a.example/1"), other])) == 2


def test_short_titles_prove_nothing() -> None:
    assert len(fold([story("a.example/1", "Morning briefing"), story("b.example/2", "Morning briefing")])) == 2


def test_whoever_has_a_text_stands_for_the_story() -> None:
    (kept,) = fold([story("a.example/1"), story("b.example/2", text="Boats pass.", provider="rss")])
    assert (kept.document.id, kept.document.content) == ("b.example/2", "Boats pass.")
    assert list(kept.corroborated_by) == ["a.example/1"]


def test_copies_of_one_provider_are_no_agreement() -> None:
    (kept,) = fold([story("a.example/1"), story("b.example/2"), story("c.example/3"), story("a.example/1")])
    assert list(kept.corroborated_by) == ["b.example/2", "c.example/3"]
    assert kept.score == 1.0


def test_recency_decides_between_near_equals_only() -> None:
    older, newer = story("a.example/1", hours=-96, score=1 / 61), story("b.example/2", score=1 / 62)
    assert ids(in_order([older, newer])) == ["b.example/2", "a.example/1"]
    agreed = story("c.example/3", hours=-160, score=2 / 61)
    assert ids(in_order([newer, agreed])) == ["c.example/3", "b.example/2"]


def test_an_unknown_date_stands_between() -> None:
    found = [story("old", hours=-160), story("unknown", hours=None), story("new")]
    assert ids(in_order(found)) == ["new", "unknown", "old"]


def test_the_order_depends_on_nothing_but_the_results() -> None:
    found = [story(f"{name}.example", hours=-hours) for name, hours in (("a", 5), ("b", 5), ("c", 1), ("d", 90))]
    copies = [Evidence.FromString(each.SerializeToString()) for each in reversed(found)]
    assert ids(in_order(found)) == ids(in_order(copies)) == ["c.example", "a.example", "b.example", "d.example"]
