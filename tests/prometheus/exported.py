"""What the processes export, and what an expression of Prometheus asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lanemesh.v1.lane_pb2 import AttemptOutcome, CacheUse, LaneStatus, Mode
from lanemesh.v1.search_pb2 import Degradation
from prometheus_client import REGISTRY

import fusion_service.observe
import gateway.metrics
import services.providers.metrics
import services.runtime.certificates
import services.runtime.exporter
import services.runtime.served

# Every module that registers a metric when it is imported.
EXPORTERS = (
    fusion_service.observe,
    gateway.metrics,
    services.providers.metrics,
    services.runtime.certificates,
    services.runtime.exporter,
    services.runtime.served,
)
# Set by whoever scrapes, not by us.
SCRAPED = frozenset({"namespace"})
_SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
_SELECTOR = re.compile(r"\b((?:[a-z]+:)?lanemesh[a-z0-9_:]*)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
_GROUPED = re.compile(r"\b(?:by|on|ignoring|without) \(([^)]*)\)")
# Labels whose values are names of the contract.
_NAMES = {"status": LaneStatus, "use": CacheUse, "outcome": AttemptOutcome, "degradation": Degradation, "mode": Mode}


def exported() -> dict[str, set[str]]:
    """The labels of every series of ours, by its name."""
    found = {}
    for family in REGISTRY.collect():
        if family.name.startswith("lanemesh_"):
            labels = set(family._labelnames) | ({"le"} if family.type == "histogram" else set())  # type: ignore[attr-defined]
            found |= {family.name + suffix: labels for suffix in _SUFFIXES[family.type]}
    return found


def names(expression: str) -> set[str]:
    """Every series of ours that an expression asks for, recorded ones too."""
    return {name for name, _ in _SELECTOR.findall(expression)}


def mistakes(expression: str, recorded: set[str]) -> Iterator[str]:
    """What an expression asks for that nobody exports or records."""
    series = exported()
    known: set[str] = set(SCRAPED)
    for name, matchers in _SELECTOR.findall(expression):
        if name in recorded:
            known |= set.union(*series.values())
            continue
        if name not in series:
            yield f"{name} is neither exported nor recorded"
            continue
        known |= series[name]
        for label, value in _MATCHER.findall(matchers):
            if label not in series[name] | SCRAPED:
                yield f"{name} has no label {label}"
            elif label in _NAMES:
                yield from (f"{label} is never {each}" for each in set(value.split("|")) - _values(label))
    for grouped in _GROUPED.findall(expression):
        yield from (f"no series here has the label {label}" for label in set(grouped.split(", ")) - known)


def _values(label: str) -> set[str]:
    """`LANE_STATUS_OK` is told as `ok`."""
    prefixes = {"status": "LANE_STATUS_", "use": "CACHE_USE_", "outcome": "ATTEMPT_OUTCOME_"}
    prefix = prefixes.get(label, f"{label.upper()}_")
    return {name.removeprefix(prefix).lower() for name in _NAMES[label].keys()}  # type: ignore[attr-defined]  # noqa: SIM118
