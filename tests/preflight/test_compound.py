"""Compound questions: where they come apart, and that each part stands alone."""

from __future__ import annotations

import pytest

from services.preflight.compound import advise
from services.preflight.question import Question


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("How does DNS work and why is it sometimes slow?", ["How does DNS work?", "Why is DNS sometimes slow?"]),
        ("What is Raft? Who uses it?", ["What is Raft?", "Who uses Raft?"]),
        ("What are mutexes and when are they fair?", ["What are mutexes?", "When are mutexes fair?"]),
        ("Who wrote Dune and what are its sequels?", ["Who wrote Dune?", "What are Dune's sequels?"]),
        ("Explain what a lane is and how it fails", ["Explain what a lane is", "Explain how a lane fails"]),
        # A part whose pronoun means something else is left out rather than guessed.
        (
            "Who founded SpaceX? What rockets has it built? How much do they cost?",
            ["Who founded SpaceX?", "What rockets has SpaceX built?"],
        ),
    ],
)
def test_parts_stand_alone(query: str, parts: list[str]) -> None:
    assert [each.refined_query for each in advise(Question(query))] == parts


@pytest.mark.parametrize(
    "query",
    [
        "What is the difference between TCP and UDP?",
        "How and why do cells divide?",
        "Who wrote Dune and when?",
        "I know what a lane is and how it fails",
        "Really? OrderService is down",
        "services that store orders and which tables they use",
    ],
)
def test_one_question_stays_one(query: str) -> None:
    assert not advise(Question(query))
