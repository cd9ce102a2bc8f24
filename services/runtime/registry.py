"""The lane table and every other figure of helm/values.yaml, as typed objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from services.runtime.errors import StartupError

# In a checkout the chart's own file; in an image the copy that was packaged beside this module.
_CANDIDATES = (Path(__file__).parents[2] / "helm" / "values.yaml", Path(__file__).parent / "values.yaml")


@dataclass(frozen=True, slots=True)
class ModeRow:
    """Times of one mode, milliseconds."""

    deadline_ms: float
    reserve_ms: float
    fusion_ms: float


@dataclass(frozen=True, slots=True)
class CostRow:
    """What one value of the cost constraint allows."""

    results: int
    time_factor: float
    answer_tokens: int


@dataclass(frozen=True, slots=True)
class DepthRow:
    """What one value of the depth constraint allows."""

    results: int
    search_depth: int


@dataclass(frozen=True, slots=True)
class TimeRangeRow:
    """How far back one value of the time_range constraint reaches."""

    days: int
    news_days: int


@dataclass(frozen=True, slots=True)
class LoadRow:
    """How budgets shrink under load."""

    threshold: float
    factor: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what callers send and receive."""

    query_characters: int
    max_results: int
    default_results: int
    results_into_synthesis: int
    context_tokens: int
    context_items: int
    projects: int
    sources: int


@dataclass(frozen=True, slots=True)
class FusionRow:
    """The fusion service: where it listens and how it ranks."""

    port: int
    rrf_k: float
    weights: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class LaneRow:
    """One lane of the table."""

    name: str
    port: int
    budget_ms: Mapping[str, float]
    max_results: Mapping[str, int]
    minimum_ms: float
    enabled: bool = True
    keeps: Sequence[str] = ()
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The whole configuration."""

    modes: Mapping[str, ModeRow]
    reserve_share: float
    load: LoadRow
    costs: Mapping[str, CostRow]
    depths: Mapping[str, DepthRow]
    time_ranges: Mapping[str, TimeRangeRow]
    limits: Limits
    fusion: FusionRow
    gateway_port: int
    lanes: Mapping[str, LaneRow]

    def enabled(self) -> list[LaneRow]:
        """The lanes that are part of the mesh, in table order."""
        return [lane for lane in self.lanes.values() if lane.enabled]

    def indexed(self) -> list[LaneRow]:
        """The enabled lanes that take part in ingestion."""
        return [lane for lane in self.enabled() if lane.keeps]

    def only(self, names: set[str]) -> Table:
        """The same table with just these lanes enabled."""
        unknown = names - set(self.lanes)
        if unknown:
            raise StartupError(f"unknown lane {', '.join(sorted(unknown))}; the table has {', '.join(self.lanes)}")
        lanes = {name: replace(row, enabled=name in names) for name, row in self.lanes.items()}
        return replace(self, lanes=lanes)


def load_table(path: Path | None = None) -> Table:
    """Reads the table; StartupError names the entry that is missing or wrong."""
    chosen = path or next((candidate for candidate in _CANDIDATES if candidate.exists()), _CANDIDATES[0])
    try:
        raw = yaml.safe_load(chosen.read_text(encoding="utf-8"))
    except OSError as error:
        raise StartupError(f"the lane table {chosen} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise StartupError(f"the lane table {chosen} is not YAML: {error}") from error
    try:
        return _table(raw)
    except (KeyError, TypeError, AttributeError) as error:
        raise StartupError(f"the lane table {chosen} lacks or misspells {error}") from error


def _table(raw: Mapping[str, Any]) -> Table:
    modes = {name: ModeRow(**row) for name, row in raw["modes"].items()}
    lanes = {name: LaneRow(name=name, **row) for name, row in raw["lanes"].items()}
    for lane in lanes.values():
        if set(lane.budget_ms) != set(modes):
            raise KeyError(f"lanes.{lane.name}.budget_ms")
        if lane.fallback and lane.fallback not in lanes:
            raise KeyError(f"lanes.{lane.name}.fallback")
    return Table(
        modes=modes,
        reserve_share=float(raw["reserve_share"]),
        load=LoadRow(**raw["load"]),
        costs={name: CostRow(**row) for name, row in raw["costs"].items()},
        depths={name: DepthRow(**row) for name, row in raw["depths"].items()},
        time_ranges={name: TimeRangeRow(**row) for name, row in raw["time_ranges"].items()},
        limits=Limits(**raw["limits"]),
        fusion=FusionRow(**raw["fusion"]),
        gateway_port=int(raw["gateway"]["port"]),
        lanes=lanes,
    )
