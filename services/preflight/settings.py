"""What the preflight lane can be told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from services.runtime.settings import setting


@dataclass(frozen=True, slots=True)
class PreflightSettings:
    """Whether and for how long it advises, where its vocabulary lives, and whether it may do without a model."""

    home: Path = setting("LANEMESH_HOME", Path("~/.lanemesh").expanduser())
    enabled: bool = setting("LANEMESH_PREFLIGHT_ENABLED", True)
    budget_ms: int = setting("LANEMESH_PREFLIGHT_BUDGET_MS", 500, low=1, high=10_000)
    minimum_ms: int = setting("LANEMESH_PREFLIGHT_MINIMUM_MS", 2, low=0, high=1_000)
    max_pressure: float = setting("LANEMESH_PREFLIGHT_MAX_PRESSURE", 0.75, low=0.0, high=1.0)
    model: Literal["auto", "off", "required"] = setting("LANEMESH_PREFLIGHT_MODEL", "auto")
    vocabulary: Path | None = setting("LANEMESH_PREFLIGHT_VOCABULARY", None)
    readers: int = setting("LANEMESH_PREFLIGHT_READERS", 2, low=1, high=32)
    lock_wait_ms: int = setting("LANEMESH_PREFLIGHT_LOCK_WAIT_MS", 1_000, low=0, high=60_000)
