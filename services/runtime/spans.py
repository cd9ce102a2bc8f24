"""What spans are called and what they say, written down once; docs/telemetry.md explains each. And a span itself."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Literal, TypeAlias

Value: TypeAlias = str | bool | int | float | Sequence[str]
Kind = Literal["internal", "server", "client"]

NAMESPACE = "lanemesh."

PLAN, FUSE, EMBED = "plan", "fuse", "embed"
IDENTITY, RANK, SYNTHESISE, CITE, DISAGREE = "identity", "rank", "synthesise", "cite", "disagree"
RETRIEVE, FUSION = "LaneService/Retrieve", "FusionService/Fuse"


def client_name(method: str) -> str:
    """A call of the mesh by a client."""
    return f"client {method}"


def lane_name(lane: str) -> str:
    """A call of a lane by the gateway."""
    return f"lane {lane}"


def provider_name(provider: str) -> str:
    """An attempt at a provider, or a question to a model."""
    return f"provider {provider}"


def engine_name(operation: str) -> str:
    """A call of a lane's engine."""
    return f"engine {operation}"


# Events.
HEDGE, BREAKER, PARTIAL, SHED = "hedge", "breaker", "partial", "shed"

# Attributes with a name of their own; all others stand in our namespace.
ERROR_TYPE, STATUS_CODE = "error.type", "rpc.response.status_code"
ATTRIBUTES = frozenset(
    {
        "budget_granted_ms",
        "budget_spent_ms",
        "cache",
        "cache_hits",
        "conflicts",
        "deadline_ms",
        "degradation",
        "distinct",
        "elapsed_ms",
        "engine",
        "fallback_for",
        "fallbacks",
        "fusion_error",
        "granted_ms",
        "hedged",
        "kept_because",
        "lane",
        "lane_ms",
        "lanes",
        "lanes_answered",
        "lanes_asked",
        "ledger_row",
        "load",
        "merged",
        "mode",
        "model",
        "outcome",
        "provider",
        "query",
        "query_types",
        "reason",
        "received",
        "reported",
        "results",
        "sampled_by",
        "scope",
        "sentences",
        "state",
        "status",
        "tier",
        "timeouts",
        "total_found",
    }
)


def new_id() -> str:
    """An identity for a span."""
    return f"{random.getrandbits(64) or 1:016x}"


class Span:
    """One thing that was done, from `start` to `end` in nanoseconds since 1970."""

    __slots__ = (
        "attributes",
        "end",
        "events",
        "failed",
        "kind",
        "link",
        "name",
        "parent_id",
        "span_id",
        "start",
        "trace_id",
    )

    def __init__(self, name: str, kind: Kind, trace_id: str, parent_id: str, start: int, span_id: str = "") -> None:
        self.name = name
        self.kind = kind
        self.trace_id = trace_id
        # Empty: the root.
        self.parent_id = parent_id
        self.span_id = span_id or new_id()
        self.start = start
        self.end = start
        self.failed = False
        self.attributes: dict[str, Value] = {}
        # Name, instant, attributes.
        self.events: list[tuple[str, int, dict[str, Value]]] = []
        # The id of a span of the same trace that led here and may not exist.
        self.link = ""

    def set(self, **attributes: Value) -> None:
        """Says more of it; an empty text says nothing."""
        self.attributes.update(attributes)

    def event(self, name: str, at: int | None = None, **attributes: Value) -> None:
        """Something that happened in it, now unless another instant is given."""
        self.events.append((name, at or time.time_ns(), attributes))

    def fail(self, kind: str = "") -> None:
        """It did not do what it was to do; `kind` is the class of the error."""
        self.failed = True
        if kind:
            self.attributes[ERROR_TYPE] = kind
