"""The filters of a request as conditions on a point's payload, in terms that every engine can express as its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1.lane_pb2 import Filters

from services.vector.payload import PUBLIC, label_key


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field holds one of the values, or a list with one of them."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """The field holds a number with least ≤ number and number < below. A missing field does not match."""

    field: str
    least: int | None = None
    below: int | None = None


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of two groups of conditions holds; a group holds when all in it do."""

    first: tuple[Condition, ...]
    second: tuple[Condition, ...]


Condition: TypeAlias = AnyOf | Within | Either

# The one chunk that every document has.
FIRST = Within("chunk", least=0, below=1)


def opened_by(access_labels: Iterable[str]) -> tuple[Condition, ...]:
    """Only points of documents that are public or carry one of the labels."""
    return (_any_of("access", [PUBLIC, *map(label_key, access_labels)]),)


def conditions_of(filters: Filters) -> tuple[Condition, ...]:
    """Everything a request demands of a document; labels are always among it."""
    conditions = list(opened_by(filters.access_labels))
    for field, wanted in (("project", filters.projects), ("source", filters.sources), ("tags", filters.tags)):
        if wanted:
            conditions.append(_any_of(field, wanted))
    if filters.language:
        conditions.append(AnyOf("languages", (filters.language.lower(),)))
    if filters.HasField("published_after"):
        conditions.append(_not_before(filters.published_after))
    if filters.HasField("published_before"):
        conditions.append(_before(filters.published_before))
    return tuple(conditions)


def beyond(document_id: str, chunks: int) -> tuple[Condition, ...]:
    """What an earlier, longer text of the document has left behind."""
    return AnyOf("document", (document_id,)), Within("chunk", least=chunks)


def _any_of(field: str, values: Sequence[str]) -> AnyOf:
    return AnyOf(field, tuple(sorted(set(values))))


def _not_before(time: Timestamp) -> Condition:
    later = Within("published_at", least=time.seconds + bool(time.nanos))
    return Either((later,), _same_second(time, least=time.nanos)) if time.nanos else later


def _before(time: Timestamp) -> Condition:
    earlier = Within("published_at", below=time.seconds)
    return Either((earlier,), _same_second(time, below=time.nanos)) if time.nanos else earlier


def _same_second(time: Timestamp, *, least: int | None = None, below: int | None = None) -> tuple[Condition, ...]:
    second = Within("published_at", least=time.seconds, below=time.seconds + 1)
    return second, Within("published_nanos", least=least, below=below)
