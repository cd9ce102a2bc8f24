"""Filters and access labels: each alone, and all together against a plain reference."""

from __future__ import annotations

import tempfile
from collections import Counter
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import UpsertRequest
from lanemesh.v1.lane_pb2 import Filters, RetrieveRequest, RetrieveResponse

from services.keyword.lane import KeywordLane, open_lane
from tests.keyword.engines import ENGINES, environment_of

DOCUMENTS = (
    Document(id="a", content="zebra", project="p", source="news", language="en", published_at=Timestamp(seconds=10)),
    Document(id="b", content="zebra", project="q", source="docs", language="en-GB", published_at=Timestamp(seconds=20)),
    Document(id="c", content="zebra", language="eng", tags=["x", "y"], published_at=Timestamp(seconds=20, nanos=1)),
    Document(id="d", content="zebra", language="PT-br", tags=["y"]),
    Document(id="e", content="zebra", access_labels=["l", "m"]),
)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "abcd"),
        ({"projects": ["p", "q"]}, "ab"),
        ({"projects": ["p", "missing"]}, "a"),
        ({"sources": ["docs"]}, "b"),
        ({"published_after": Timestamp(seconds=20)}, "bc"),
        ({"published_before": Timestamp(seconds=20)}, "a"),
        ({"published_before": Timestamp(seconds=20, nanos=1)}, "ab"),
        ({"published_after": Timestamp(seconds=10), "published_before": Timestamp(seconds=20)}, "a"),
        ({"language": "en"}, "ab"),
        ({"language": "EN-gb"}, "b"),
        ({"language": "pt"}, "d"),
        ({"language": "%"}, ""),
        ({"tags": ["x"]}, "c"),
        ({"tags": ["y", "z"]}, "cd"),
        ({"access_labels": ["m"]}, "abcde"),
        ({"access_labels": ["k"]}, "abcd"),
        ({"access_labels": ["m"], "tags": ["x"]}, "c"),
    ],
)
async def test_each_filter(store, found, filters: dict[str, Any], expected: str) -> None:
    await store(*DOCUMENTS)
    assert await found("zebra", **filters) == set(expected)


# Names that engines are tempted to take for one another, or for syntax.
HOSTILE = ["'", '"', "a\\", "~61", '" OR a NOT EXISTS', "a\x00b", "é" * 60]
NAMES = st.sampled_from(["", "a", "b", "A", " a", "á", "ﬁ", "fi", *HOSTILE])
SEVERAL = st.lists(NAMES, max_size=3)
LANGUAGES = st.sampled_from(["", "en", "en-GB", "eng", "EN", "e"])
TIMES = st.none() | st.builds(Timestamp, seconds=st.integers(-2, 2), nanos=st.integers(0, 1))
BODIES = st.fixed_dictionaries(
    {
        "project": NAMES,
        "source": NAMES,
        "language": LANGUAGES,
        "tags": SEVERAL,
        "access_labels": SEVERAL,
        "published_at": TIMES,
    }
)
FILTERS = st.builds(
    Filters,
    projects=SEVERAL,
    sources=SEVERAL,
    language=LANGUAGES,
    tags=SEVERAL,
    access_labels=SEVERAL,
    published_after=TIMES,
    published_before=TIMES,
)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=60, deadline=None)
@given(bodies=st.lists(BODIES, max_size=8), wanted=st.lists(FILTERS, min_size=1, max_size=4))
async def test_filters_agree_with_a_plain_reference(
    engine: str, bodies: list[dict[str, Any]], wanted: list[Filters]
) -> None:
    documents = [Document(id=str(number), content="zebra", **body) for number, body in enumerate(bodies)]
    with tempfile.TemporaryDirectory() as home:
        async with environment_of(engine, home) as environment:
            await _compare(await open_lane(environment), documents, wanted)


async def _compare(lane: KeywordLane, documents: list[Document], wanted: list[Filters]) -> None:
    if documents:
        await lane.upsert([UpsertRequest(sequence=1, document=document) for document in documents])
    for filters in wanted:
        reply = RetrieveResponse()
        await lane.retrieve(RetrieveRequest(query="zebra", max_results=100, filters=filters), reply)
        expected = {document.id for document in documents if _passes(document, filters)}
        assert {evidence.document.id for evidence in reply.evidence} == expected
        assert reply.total_found == len(expected)
        opened = [document for document in documents if _opens(document, filters.access_labels)]
        counted = await lane.stats(filters.access_labels)
        assert counted.documents == len(opened)
        assert dict(counted.documents_by_project) == Counter(document.project for document in opened)
    await lane.close()


def _opens(document: Document, held: Any) -> bool:
    return not document.access_labels or bool(set(document.access_labels) & set(held))


def _passes(document: Document, filters: Filters) -> bool:
    time = (document.published_at.seconds, document.published_at.nanos)
    dated = document.HasField("published_at")
    after = (filters.published_after.seconds, filters.published_after.nanos)
    before = (filters.published_before.seconds, filters.published_before.nanos)
    language = f"{document.language.lower()}-"
    return (
        _opens(document, filters.access_labels)
        and (not filters.projects or document.project in filters.projects)
        and (not filters.sources or document.source in filters.sources)
        and (not filters.tags or bool(set(document.tags) & set(filters.tags)))
        and (not filters.language or language.startswith(f"{filters.language.lower()}-"))
        and (not filters.HasField("published_after") or (dated and time >= after))
        and (not filters.HasField("published_before") or (dated and time < before))
    )
