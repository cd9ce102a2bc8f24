"""Filters and access labels on every engine: each alone, and all together against a plain reference."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest
from lanemesh.v1.lane_pb2 import Filters, RetrieveRequest, RetrieveResponse

from services.vector.lane import VectorLane
from tests.vector.lanes import KINDS, found, lane_on, store

DOCUMENTS = (
    Document(id="a", content="zebra", project="p", source="news", language="en", published_at=Timestamp(seconds=10)),
    Document(id="b", content="zebra", project="q", source="docs", language="en-GB", published_at=Timestamp(seconds=20)),
    Document(id="c", content="zebra", language="eng", tags=["x", "y"], published_at=Timestamp(seconds=20, nanos=1)),
    Document(id="d", content="zebra", language="PT-br", tags=["y"]),
    Document(id="e", content="zebra", access_labels=["l", "m"]),
)
CASES: list[tuple[dict[str, Any], str]] = [
    ({}, "abcd"),
    ({"projects": ["p", "q"]}, "ab"),
    ({"projects": ["p", "missing"]}, "a"),
    ({"projects": [""]}, "cd"),
    ({"sources": ["docs"]}, "b"),
    ({"published_after": Timestamp(seconds=20)}, "bc"),
    ({"published_after": Timestamp(seconds=20, nanos=1)}, "c"),
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
]


async def test_each_filter(lane: VectorLane) -> None:
    await store(lane, *DOCUMENTS)
    for filters, expected in CASES:
        assert await found(lane, "zebra", **filters) == set(expected), filters


NAMES = st.sampled_from(["", "a", "b", "c", "a\x00b", "'", "public", "label:a"])
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
        # Several chunks or one.
        "content": st.sampled_from(["zebra", "zebra zebra. " * 60]),
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
EXAMPLES = st.tuples(st.lists(BODIES, max_size=8), st.lists(FILTERS, min_size=1, max_size=4))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=4, deadline=None)
@given(examples=st.lists(EXAMPLES, min_size=8, max_size=12))
async def test_filters_agree_with_a_plain_reference(kind: str, examples: list[tuple[Any, list[Filters]]]) -> None:
    """Several stocks of documents follow each other in one collection, so that what is left behind would be found."""
    with tempfile.TemporaryDirectory() as home:
        async with lane_on(kind, Path(home)) as lane:
            for bodies, wanted in examples:
                documents = [Document(id=str(number), **body) for number, body in enumerate(bodies)]
                await store(lane, *documents)
                for filters in wanted:
                    await _compare(lane, documents, filters)
                gone = [document.id for document in documents]
                assert await lane.delete(DeleteRequest(document_ids=gone)) == len(gone)


async def _compare(lane: VectorLane, documents: list[Document], filters: Filters) -> None:
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(query="zebra", max_results=100, filters=filters), reply)
    expected = {document.id for document in documents if _passes(document, filters)}
    assert {evidence.document.id for evidence in reply.evidence} == expected
    opened = [document for document in documents if _opens(document, filters.access_labels)]
    stats = await lane.stats(filters.access_labels)
    assert stats.documents == len(opened)
    assert set(stats.documents_by_project) == {document.project for document in opened}


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
