"""The filters of a request as an expression of Meilisearch, into which no character of the caller gets unescaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1.lane_pb2 import Filters

from services.keyword.meili_documents import exact


def quoted(name: str) -> str:
    """A value as the expression holds it. `exact` leaves no quote, backslash, space or line break to escape."""
    return f'"{exact(name)}"'


def any_of(attribute: str, names: Iterable[str]) -> str:
    """The condition that the attribute has one of the names."""
    return f"{attribute} IN [{', '.join(quoted(name) for name in sorted(set(names)))}]"


def opened_by(access_labels: Sequence[str]) -> str:
    """Only documents that are public or carry one of the labels."""
    public = "access_labels NOT EXISTS"
    return f"({public} OR {any_of('access_labels', access_labels)})" if access_labels else public


def expression_of(filters: Filters) -> str:
    """Everything a request demands of a document; labels are always among it."""
    conditions = [opened_by(filters.access_labels)]
    named = (("project", filters.projects), ("source", filters.sources), ("tags", filters.tags))
    conditions += [any_of(attribute, names) for attribute, names in named if names]
    if filters.language:
        # A document holds every prefix of its language: en and en-gb for en-GB.
        conditions.append(f"language = {quoted(filters.language.lower())}")
    if filters.HasField("published_after"):
        conditions.append(_beside(filters.published_after, ">", ">="))
    if filters.HasField("published_before"):
        conditions.append(_beside(filters.published_before, "<", "<"))
    return " AND ".join(conditions)


def _beside(time: Timestamp, apart: str, at: str) -> str:
    seconds, nanos = time.seconds, time.nanos
    return f"(published_at {apart} {seconds} OR (published_at = {seconds} AND published_nanos {at} {nanos}))"
