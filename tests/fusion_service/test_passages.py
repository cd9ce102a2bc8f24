"""What may be quoted, and the index over it."""

from __future__ import annotations

from lanemesh.v1.evidence_pb2 import Evidence

from fusion_service.passages import WINDOW, evidence_source, index
from tests.fusion_service.samples import evidence, source


def ranked(found: Evidence, *lanes: str) -> Evidence:
    found.lanes.extend(lanes)
    for place, lane in enumerate(lanes, start=1):
        found.components.contributions.add(lane=lane, rank=place)
    return found


def test_passages_know_their_place_and_context() -> None:
    text = "Lead sentence here.\n\n# Retry\n\nFirst one. Second one.\n\n```\ncode\n```"
    passages = index([source("a", text, title="Gateway")]).passages
    assert [(p.text, p.context) for p in passages] == [
        ("Lead sentence here.", frozenset({"gateway"})),
        ("First one.", frozenset({"gateway", "retry"})),
        ("Second one.", frozenset({"gateway", "retry"})),
    ]
    assert all(text[p.start : p.end] == p.text for p in passages)


def test_needles_leave_out_what_cannot_matter() -> None:
    text = "Opening words. Nothing here.\n\n# Retries\n\nUnder it.\n\n# Other\n\nAn odd one. It retries."
    texts = [passage.text for passage in index([source("a", text)], ["retr"]).passages]
    assert texts == ["Opening words.", "Under it.", "It retries."]


def test_postings_name_every_passage_with_the_word() -> None:
    found = index([source("a", "A retry. No more."), source("b", "Retries retried.")])
    assert found.postings["retry"] == [0, 2]


def test_a_long_document_is_read_around_its_passage() -> None:
    content = "Far away it starts. " * 5_000 + "The needle sentence stands here. " + "More words follow. " * 5_000
    found = evidence("a", content)
    found.passage.start = content.index("The needle")
    found.passage.end = found.passage.start + 10
    passages = index([evidence_source(ranked(found, "web"))]).passages
    assert "The needle sentence stands here." in [passage.text for passage in passages]
    assert sum(len(passage.text) for passage in passages) <= WINDOW
    assert all(content[p.start : p.end] == p.text for p in passages)


def test_groups_follow_the_lanes() -> None:
    assert evidence_source(ranked(evidence("a"), "kg", "local")).group == "local"
    assert evidence_source(ranked(evidence("a"), "kg", "vector")).group == "graph"
    assert evidence_source(ranked(evidence("a"), "web")).group == "similar"
