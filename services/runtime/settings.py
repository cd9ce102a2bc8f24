"""Typed settings from environment variables, read once per process. Every problem is named by its variable."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from services.runtime.errors import StartupError

Settings = TypeVar("Settings")

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def setting(
    variable: str, default: Any = dataclasses.MISSING, *, low: float | None = None, high: float | None = None
) -> Any:
    """A dataclass field read from `variable`; without a default it is required. `low` and `high` bound a number."""
    return dataclasses.field(default=default, metadata={"variable": variable, "low": low, "high": high})


def load(settings: type[Settings], environment: Mapping[str, str]) -> Settings:
    """The settings object, or StartupError listing every variable that is missing or wrong."""
    hints = typing.get_type_hints(settings)
    values: dict[str, Any] = {}
    problems: list[str] = []
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        variable = field.metadata["variable"]
        raw = environment.get(variable, "").strip()
        if not raw:
            if field.default is dataclasses.MISSING:
                problems.append(f"{variable} is required")
            continue
        try:
            values[field.name] = _parse(raw, hints[field.name], field.metadata)
        except ValueError as error:
            problems.append(f"{variable}={raw!r}: {error}")
    if problems:
        raise StartupError("; ".join(problems))
    return settings(**values)


def _parse(raw: str, kind: Any, metadata: Mapping[str, Any]) -> Any:
    options = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        kind = next(option for option in options if option is not type(None))
        options = typing.get_args(kind)
    if kind is bool:
        return _flag(raw)
    if kind in (int, float):
        return _number(raw, kind, metadata["low"], metadata["high"])
    if kind is Path:
        return Path(raw).expanduser()
    if typing.get_origin(kind) is typing.Literal:
        if raw not in options:
            raise ValueError(f"expected one of {', '.join(options)}")
        return raw
    if typing.get_origin(kind) is tuple:
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    return raw


def _flag(raw: str) -> bool:
    if raw.lower() in _TRUE | _FALSE:
        return raw.lower() in _TRUE
    raise ValueError("expected true or false")


def _number(raw: str, kind: type[int] | type[float], low: float | None, high: float | None) -> float:
    try:
        value = kind(raw)
    except ValueError:
        raise ValueError("expected a whole number" if kind is int else "expected a number") from None
    # Written so that NaN fails the test as well.
    if not (low is None or value >= low) or not (high is None or value <= high) or value != value:
        raise ValueError(f"expected {_range(low, high)}")
    return value


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return "a number" if high is None else f"at most {high}"
