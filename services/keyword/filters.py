"""The filters of a request as SQL conditions on a document's number, with bind variables only."""

# ruff: noqa: S608 - statements are made of constants and bind marks; what a caller sent is always a bound value.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lanemesh.v1.lane_pb2 import Filters


@dataclass(slots=True)
class Conditions:
    """Conditions that must all hold, and the values of their bind variables in order."""

    clauses: list[str] = field(default_factory=list)
    values: list[str | int] = field(default_factory=list)

    def add(self, clause: str, values: Iterable[str | int]) -> None:
        """One more condition."""
        self.clauses.append(clause)
        self.values.extend(values)

    @property
    def sql(self) -> str:
        """The conditions joined, ready to follow WHERE or AND."""
        return " AND ".join(self.clauses)


def opened_by(access_labels: Sequence[str], number: str) -> Conditions:
    """Only documents that are public or carry one of the labels; `number` is the SQL name of the document's number."""
    held = sorted(set(access_labels))
    labels = f"SELECT 1 FROM labels WHERE document = {number}"
    conditions = Conditions()
    conditions.add(f"(NOT EXISTS ({labels}) OR EXISTS ({labels} AND label IN ({_marks(held)})))", held)
    return conditions


def conditions_of(filters: Filters, number: str) -> Conditions:
    """Everything a request demands of a document; labels are always among it."""
    conditions = opened_by(filters.access_labels, number)
    columns = _columns(filters)
    if columns.clauses:
        matching = f"SELECT 1 FROM documents WHERE documents.number = {number} AND {columns.sql}"
        conditions.add(f"EXISTS ({matching})", columns.values)
    if filters.tags:
        tags = sorted(set(filters.tags))
        matching = f"SELECT 1 FROM tags WHERE document = {number} AND tag IN ({_marks(tags)})"
        conditions.add(f"EXISTS ({matching})", tags)
    return conditions


def _columns(filters: Filters) -> Conditions:
    conditions = Conditions()
    for column, wanted in (("project", filters.projects), ("source", filters.sources)):
        if wanted:
            values = sorted(set(wanted))
            conditions.add(f"{column} IN ({_marks(values)})", values)
    if filters.HasField("published_after"):
        _compare(conditions, ">=", filters.published_after.seconds, filters.published_after.nanos)
    if filters.HasField("published_before"):
        _compare(conditions, "<", filters.published_before.seconds, filters.published_before.nanos)
    if filters.language:
        # The dash ends the prefix at a subtag: en matches en and en-GB, not eng.
        prefix = f"{filters.language.lower()}-"
        conditions.add("substr(language_key, 1, ?) = ?", (len(prefix), prefix))
    return conditions


def _compare(conditions: Conditions, operator: str, seconds: int, nanos: int) -> None:
    # An unknown date is NULL, and NULL compares to nothing.
    conditions.add(f"(published_seconds, published_nanos) {operator} (?, ?)", (seconds, nanos))


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))
