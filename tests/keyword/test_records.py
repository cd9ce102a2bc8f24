"""Records beyond the limits of the contract are refused one by one."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import Entity, UpsertRequest

from services.keyword.lane import KeywordLane


async def test_bad_record_never_loses_the_others(lane: KeywordLane, found) -> None:
    records = [
        UpsertRequest(sequence=1, document=Document(id="good", content="zebra")),
        UpsertRequest(sequence=2, document=Document(id="bad")),
        UpsertRequest(sequence=3, entity=Entity(id="e", name="ignored")),
        UpsertRequest(sequence=4),
        UpsertRequest(sequence=5, document=Document(id="also", content="zebra")),
    ]
    failures = await lane.upsert(records)
    assert [(each.sequence, each.id, each.field) for each in failures] == [
        (2, "bad", "document.content"),
        (4, "", "record"),
    ]
    assert {each.reason for each in failures} == {"INVALID_ARGUMENT"}
    assert await found("zebra") == {"good", "also"}


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (Document(content="x"), "id"),
        (Document(id="i" * 513, content="x"), "id"),
        (Document(id="a", content="x" * 1_048_577), "content"),
        (Document(id="a", content="x", title="t" * 1_001), "title"),
        (Document(id="a", content="x", summary="s" * 10_001), "summary"),
        (Document(id="a", content="x", url="u" * 2_049), "url"),
        (Document(id="a", content="x", project="p" * 129), "project"),
        (Document(id="a", content="x", author="a" * 513), "author"),
        (Document(id="a", content="x", tags=["t"] * 65), "tags"),
        (Document(id="a", content="x", tags=["t" * 65]), "tags"),
        (Document(id="a", content="x", access_labels=["l"] * 33), "access_labels"),
        (Document(id="a", content="x", attributes={str(n): "" for n in range(65)}), "attributes"),
        (Document(id="a", content="x", published_at=Timestamp(nanos=-1)), "published_at"),
    ],
)
async def test_limits_of_the_contract(lane: KeywordLane, document: Document, field: str) -> None:
    failures = await lane.upsert([UpsertRequest(sequence=7, document=document)])
    assert [(each.sequence, each.field) for each in failures] == [(7, f"document.{field}")]
    assert failures[0].message.startswith(f"document.{field}: ")
