"""The lane table and every other figure of helm/values.yaml, as typed objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import yaml

from services.runtime.errors import StartupError

Row = TypeVar("Row")

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
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise StartupError(f"the lane table {chosen} is not YAML: {error}") from error
    try:
        return _table(_section("the file", raw))
    except ValueError as error:
        raise StartupError(f"the lane table {chosen}: {error}") from error


def _table(raw: Mapping[str, Any]) -> Table:
    table = Table(
        modes=_rows(ModeRow, "modes", raw),
        reserve_share=_number("reserve_share", raw.get("reserve_share")),
        load=_row(LoadRow, "load", raw.get("load")),
        costs=_rows(CostRow, "costs", raw),
        depths=_rows(DepthRow, "depths", raw),
        time_ranges=_rows(TimeRangeRow, "time_ranges", raw),
        limits=_row(Limits, "limits", raw.get("limits")),
        fusion=_row(FusionRow, "fusion", raw.get("fusion")),
        gateway_port=int(_number("gateway.port", _section("gateway", raw.get("gateway")).get("port"))),
        lanes=_rows(LaneRow, "lanes", raw),
    )
    for lane in table.lanes.values():
        _agree(lane, table)
    return table


def _agree(lane: LaneRow, table: Table) -> None:
    if set(lane.budget_ms) != set(table.modes):
        raise ValueError(f"lanes.{lane.name}.budget_ms must have an entry for each of {', '.join(table.modes)}")
    if set(lane.max_results) != set(table.depths):
        raise ValueError(f"lanes.{lane.name}.max_results must have an entry for each of {', '.join(table.depths)}")
    if lane.fallback and lane.fallback not in table.lanes:
        raise ValueError(f"lanes.{lane.name}.fallback names no lane")


def _rows(kind: type[Row], entry: str, raw: Mapping[str, Any]) -> dict[str, Row]:
    return {name: _row(kind, f"{entry}.{name}", row, name) for name, row in _section(entry, raw.get(entry)).items()}


def _row(kind: type[Row], entry: str, raw: Any, name: str = "") -> Row:
    """One row; ValueError names the entry that is missing, unknown or of the wrong type."""
    columns = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    # A lane's name is the key of its row.
    values = dict(_section(entry, raw)) | ({"name": name} if "name" in columns else {})
    for column, field in columns.items():
        if column not in values and field.default is MISSING:
            raise ValueError(f"{entry}.{column} is missing")
    for column, value in values.items():
        if column not in columns:
            raise ValueError(f"{entry}.{column} is unknown")
        if not _FITS[str(columns[column].type)](value):
            raise ValueError(f"{entry}.{column} is {value!r}, expected {columns[column].type}")
    return kind(**values)


def _section(entry: str, raw: Any) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise ValueError(f"{entry} is missing or no mapping")
    return raw


def _number(entry: str, value: Any) -> float:
    if not _is_number(value):
        raise ValueError(f"{entry} is {value!r}, expected a number")
    return float(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and isfinite(value))


def _each(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(map(fits, value.values()))


# Whether a value is one of the type that a row declares.
_FITS: dict[str, Callable[[Any], bool]] = {
    "int": _is_whole,
    "float": _is_number,
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "Sequence[str]": lambda value: isinstance(value, list) and all(isinstance(part, str) for part in value),
    "Mapping[str, int]": _each(_is_whole),
    "Mapping[str, float]": _each(_is_number),
    "Mapping[str, Mapping[str, float]]": _each(_each(_is_number)),
}
