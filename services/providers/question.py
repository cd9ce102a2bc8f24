"""The request of the mesh as a neutral question: limits of the lane applied, bounds of time read in its terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lanemesh.v1.lane_pb2 import TIME_RANGE_FIVE_YEARS, TIME_RANGE_RECENT, RetrieveRequest

from services.providers.provider import Question
from services.runtime.registry import load_table
from services.runtime.settings import load, setting

_TIME_RANGES = {TIME_RANGE_RECENT: "recent", TIME_RANGE_FIVE_YEARS: "five_years"}


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Where the lane table is."""

    config: Path | None = setting("LANEMESH_CONFIG", None)


@dataclass(frozen=True, slots=True)
class Reading:
    """How one lane reads a request: its most results, and the days that each time range reaches back."""

    max_results: int
    days: Mapping[str, int]

    @classmethod
    def of(cls, lane: str, environment: Mapping[str, str]) -> Reading:
        """As the lane table says."""
        table = load_table(load(TableSettings, environment).config)
        rows = table.time_ranges.items()
        days = {name: row.news_days if lane == "news" else row.days for name, row in rows}
        return cls(max(table.lanes[lane].max_results.values()), days)

    def question(self, request: RetrieveRequest, now: datetime) -> Question:
        """What the request asks, in neutral form."""
        filters = request.filters
        before = filters.published_before.ToDatetime(UTC) if filters.HasField("published_before") else None
        return Question(
            query=request.query,
            max_results=min(request.max_results, self.max_results),
            language=filters.language or request.constraints.language,
            published_after=self._after(request, now),
            published_before=before,
            sources=tuple(dict.fromkeys(filters.sources)),
        )

    def _after(self, request: RetrieveRequest, now: datetime) -> datetime | None:
        """The later of the explicit bound and what the time range allows."""
        constraints, filters = request.constraints, request.filters
        bounds = [constraints.published_after.ToDatetime(UTC)] if constraints.HasField("published_after") else []
        if constraints.time_range in _TIME_RANGES:
            # To the hour: a bound that moves with the clock would make every question a new one to the cache.
            hour = now.replace(minute=0, second=0, microsecond=0)
            bounds.append(hour - timedelta(days=self.days[_TIME_RANGES[constraints.time_range]]))
        elif filters.HasField("published_after"):
            bounds.append(filters.published_after.ToDatetime(UTC))
        return max(bounds, default=None)
