"""Two statements: can both be right?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fusion_service.claims import claim
from fusion_service.contradiction import FACTUAL, SCOPE, TEMPORAL, Difference, compare
from tests.fusion_service.pairs import seeded, unrelated

CLAIMS = Path(__file__).parents[3] / "shared" / "data" / "scifact_claims" / "claims.jsonl"


def difference(one: str, other: str) -> Difference | None:
    return compare(claim(one), claim(other))


def test_the_kind_and_the_values_are_told() -> None:
    found = difference("A web session expires after 30 minutes.", "A web session expires after 45 min.")
    assert found is not None
    assert (found.type, found.values) == (FACTUAL, ("30 minutes", "45 min"))
    dated = difference("The mobile app was launched in May 2024.", "The mobile app was launched in 2023.")
    assert dated is not None
    assert (dated.type, dated.values) == (TEMPORAL, ("2024-05", "2023"))
    partial = difference("All plans include audit logs.", "Only enterprise plans include audit logs.")
    assert partial is not None
    assert (partial.type, partial.values) == (SCOPE, ("all", "some"))


def test_seeded_pairs() -> None:
    pairs = seeded()
    assert [pair.contradicts for pair in pairs].count(True) == 100 == len(pairs) - 100
    flagged = [pair for pair in pairs if difference(pair.one, pair.other)]
    right = sum(pair.contradicts for pair in flagged)
    assert right / len(flagged) >= 0.95
    assert right / 100 >= 0.85


@pytest.mark.parametrize(("one", "other"), unrelated())
def test_shared_words_alone_are_no_disagreement(one: str, other: str) -> None:
    assert difference(one, other) is None


def test_the_order_of_the_two_does_not_matter() -> None:
    for pair in seeded():
        assert bool(difference(pair.one, pair.other)) == bool(difference(pair.other, pair.one))


def test_scientific_claims_against_their_abstracts() -> None:
    if not CLAIMS.is_file():
        pytest.skip(f"the claims are not at {CLAIMS}")
    rows = [json.loads(line) for line in CLAIMS.read_text(encoding="utf-8").splitlines()]
    flagged = {
        label: [
            any(difference(row["claim"], sentence) for sentence in row["sentences"])
            for row in rows
            if row["label"] == label
        ]
        for label in ("SUPPORT", "CONTRADICT")
    }
    assert sum(flagged["CONTRADICT"]) / len(flagged["CONTRADICT"]) >= 0.25
    assert sum(flagged["SUPPORT"]) / len(flagged["SUPPORT"]) <= 0.05
