"""The lane table and every other figure of helm/values.yaml, as typed objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import yaml

from services.runtime.errors import StartupError
from services.runtime.protection import BreakerRow, HedgeRow, LimitRow, PressureRow, Protection

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
    preflight_threshold: float


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
class RoutingRow:
    """Which lanes a question is put to; the columns are explained in the file."""

    types: Mapping[str, Sequence[str]]
    otherwise: Sequence[str]
    joins: Mapping[str, Sequence[str]]
    cues: Mapping[str, Sequence[str]]
    modes: Mapping[str, Sequence[str]]
    sources: Mapping[str, Sequence[str]]
    closed: Sequence[str]
    scoped: Sequence[str]
    scopes: Sequence[str]
    scope_least: int

    def lanes(self) -> set[str]:
        """Every lane that is mentioned."""
        columns = (self.types, self.joins, self.cues, self.modes, self.sources)
        named = {lane for column in columns for lanes in column.values() for lane in lanes}
        return named | set(self.joins) | set(self.otherwise) | set(self.scopes)


# The entries that each column of the fusion row must have; `authority` may have more.
_FUSION_ENTRIES = {
    "guards": {"flat", "off_topic"},
    "policy": {"diversity", "recency", "authority", "quality"},
    "recency": {"day", "week", "month", "year", "older", "unknown"},
    "terms": {"coverage", "entity_match", "local", "length", "provider"},
    "length": {"from", "full"},
}


@dataclass(frozen=True, slots=True, eq=False)
class FusionRow:
    """The fusion service: where it listens and how it ranks; the columns are explained in the file."""

    port: int
    rrf_k: float
    weights: Mapping[str, Mapping[str, float]]
    guards: Mapping[str, float]
    strength: float
    policy: Mapping[str, float]
    recency: Mapping[str, float]
    authority: Mapping[str, float]
    terms: Mapping[str, float]
    length: Mapping[str, float]

    def lane_weights(self, query_types: Iterable[str]) -> Mapping[str, float]:
        """The lane weights of the first query type that has any; an unlisted lane weighs 1."""
        return next((self.weights[name] for name in query_types if name in self.weights), {})


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
    # Whether its calls cost money: never asked twice for the same question.
    paid: bool = False


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
    routing: RoutingRow
    fusion: FusionRow
    gateway_port: int
    protection: Protection
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
        routing=_row(RoutingRow, "routing", raw.get("routing")),
        fusion=_row(FusionRow, "fusion", raw.get("fusion")),
        gateway_port=int(_number("gateway.port", _section("gateway", raw.get("gateway")).get("port"))),
        protection=_protection(_section("protection", raw.get("protection"))),
        lanes=_rows(LaneRow, "lanes", raw),
    )
    _check_ranking(table.fusion)
    for lane in table.lanes.values():
        _agree(lane, table)
    if unknown := table.routing.lanes() - set(table.lanes):
        raise ValueError(f"routing names {', '.join(sorted(unknown))}, which is no lane of the table")
    return table


def _protection(raw: Mapping[str, Any]) -> Protection:
    return Protection(
        limit=_row(LimitRow, "protection.limit", raw.get("limit")),
        pressure=_row(PressureRow, "protection.pressure", raw.get("pressure")),
        breaker=_row(BreakerRow, "protection.breaker", raw.get("breaker")),
        hedge=_row(HedgeRow, "protection.hedge", raw.get("hedge")),
    )


def _check_ranking(fusion: FusionRow) -> None:
    """Every entry there, and none that would let agreement or relevance count for nothing."""
    for column, entries in _FUSION_ENTRIES.items():
        if set(getattr(fusion, column)) != entries:
            raise ValueError(f"fusion.{column} must have exactly the entries {', '.join(sorted(entries))}")
    if "otherwise" not in fusion.authority:
        raise ValueError("fusion.authority.otherwise is missing")
    kept = [("rrf_k", fusion.rrf_k), *fusion.guards.items()]
    kept += [(name, weight) for row in fusion.weights.values() for name, weight in row.items()]
    for name, value in kept:
        if not value > 0.0:
            raise ValueError(f"fusion: {name} is {value!r}, expected more than 0")
    if not 0.0 <= fusion.strength + fusion.terms["length"] + fusion.terms["provider"] < 1.0:
        raise ValueError("fusion: strength and terms may take less than the whole of a score")


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


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _each(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(map(fits, value.values()))


# Whether a value is one of the type that a row declares.
_FITS: dict[str, Callable[[Any], bool]] = {
    "int": _is_whole,
    "float": _is_number,
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "Sequence[str]": _is_words,
    "Mapping[str, Sequence[str]]": _each(_is_words),
    "Mapping[str, int]": _each(_is_whole),
    "Mapping[str, float]": _each(_is_number),
    "Mapping[str, Mapping[str, float]]": _each(_each(_is_number)),
}
