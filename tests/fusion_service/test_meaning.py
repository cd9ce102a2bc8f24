"""Near-duplicates by meaning: embeddings propose, words, numbers and denials decide."""

from __future__ import annotations

import pytest
from lanemesh.v1.evidence_pb2 import Evidence

from fusion_service.fuse import fuse
from services.runtime.registry import Table
from tests.fusion_service.samples import evidence, findings, request

RETRY = "The adapter retries a failed charge. Between two attempts it waits for 2 seconds and then calls the gateway."


def alike(*pairs: tuple[str, str]) -> list[Evidence]:
    """Documents each of which the lane holds for near-duplicates of the others."""
    found = [evidence(name, content) for name, content in pairs]
    for one in found:
        one.near_duplicates.extend(name for name, _ in pairs if name != one.document.id)
    return found


def ids(table: Table, found: list[Evidence]) -> list[str]:
    return [result.document.id for result in fuse(request(findings("vector", *found)), table).results]


def test_texts_of_one_meaning_are_one_and_the_better_names_the_other(table: Table) -> None:
    found = alike(("orders", RETRY), ("billing", RETRY.replace("adapter", "client")))
    response = fuse(request(findings("vector", *found)), table)
    (result,) = response.results
    assert (result.document.id, list(result.corroborated_by)) == ("orders", ["billing"])
    assert response.report.merged == 1


def test_three_copies_are_one(table: Table) -> None:
    copies = alike(("a", RETRY), ("b", f"{RETRY} Ok"), ("c", f"{RETRY} So"))
    response = fuse(request(findings("vector", *copies)), table)
    assert [list(result.corroborated_by) for result in response.results] == [["b", "c"]]


@pytest.mark.parametrize(
    "other",
    [
        RETRY.replace("2 seconds", "5 seconds"),
        RETRY.replace("2 seconds", "2 minutes"),
        RETRY.replace("it waits for", "it does not wait for"),
        "The adapter retries a failed charge after 2 seconds. Lunch, tea and other meals are served in the hall.",
        "",
    ],
)
def test_what_differs_in_a_number_a_denial_or_its_words_stays_apart(table: Table, other: str) -> None:
    assert sorted(ids(table, alike(("a", RETRY), ("b", other)))) == ["a", "b"]


def test_titles_whose_numbers_differ_stay_apart(table: Table) -> None:
    found = alike(("a", RETRY), ("b", f"{RETRY} Ok"))
    for one, title in zip(found, ("Release 7", "Release 8"), strict=True):
        one.document.title = title
    assert sorted(ids(table, found)) == ["a", "b"]


def test_the_passage_that_was_embedded_is_what_is_compared(table: Table) -> None:
    found = alike(("a", f"{RETRY} In orders 3 do."), ("b", f"{RETRY} In billing 4 do."))
    assert sorted(ids(table, found)) == ["a", "b"]
    for one in found:
        one.passage.end = len(RETRY)
    assert ids(table, found) == ["a"]


def test_names_of_nothing_are_of_no_consequence(table: Table) -> None:
    found = alike(("a", RETRY))
    found[0].near_duplicates.extend(["a", "nowhere", ""])
    assert ids(table, found) == ["a"]


def test_the_other_lanes_sightings_stay_with_the_document(table: Table) -> None:
    found = alike(("a", RETRY), ("b", f"{RETRY} Ok"))
    response = fuse(request(findings("vector", *found), findings("keyword", evidence("b", f"{RETRY} Ok"))), table)
    (result,) = response.results
    assert (result.document.id, list(result.corroborated_by)) == ("b", ["a"])
