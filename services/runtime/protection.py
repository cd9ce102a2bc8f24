"""The figures under `protection:` in helm/values.yaml: what keeps the gateway standing, and a lane from costing it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LimitRow:
    """How many requests may be at work at once, and how long others may wait for their turn."""

    minimum: int
    initial: int
    maximum: int
    # How far above its least a request's own time may lie before the limit shrinks.
    tolerance: float
    # Requests after which the limit is reconsidered.
    window: int
    # How long the least is believed before it is measured again.
    memory_ms: float
    queue: int
    # The longest wait: so many milliseconds, or this share of the time the request has left if that is less.
    wait_ms: float
    wait_share: float


@dataclass(frozen=True, slots=True)
class PressureRow:
    """How the gateway's own figures become one number from 0 to 1."""

    sample_ms: float
    # The lateness of the loop that counts as full.
    lag_ms: float
    # How fast a figure follows what is observed, 0..1.
    smoothing: float


@dataclass(frozen=True, slots=True)
class BreakerRow:
    """When a lane is left alone, and when it is tried again."""

    calls: int
    least_calls: int
    window_ms: float
    failure_share: float
    # A time-out counts only when the lane was granted at least this share of its budget in the table.
    timeout_share: float
    first_try_ms: float
    # The longest wait for the next try: of a lane that fails at once, and of one that takes its time to fail.
    longest_ms: float
    longest_hung_ms: float


@dataclass(frozen=True, slots=True)
class HedgeRow:
    """When a second replica is asked as well, and how often at most."""

    quantile: float
    samples: int
    least_samples: int
    least_ms: float
    share: float
    burst: float
    resolve_ms: float


@dataclass(frozen=True, slots=True)
class Protection:
    """All of it."""

    limit: LimitRow
    pressure: PressureRow
    breaker: BreakerRow
    hedge: HedgeRow
