"""What provider lanes export: attempts by outcome, their time, how providers stand, and what the cache did."""

from __future__ import annotations

from lanemesh.v1.lane_pb2 import AttemptOutcome, CacheUse
from prometheus_client import Counter, Gauge, Histogram

ATTEMPTS = Counter("lanemesh_provider_attempts_total", "Provider attempts.", ["lane", "provider", "outcome"])
SECONDS = Histogram(
    "lanemesh_provider_seconds",
    "Time until a provider attempt ended.",
    ["lane", "provider"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0),
)
FAILURES = Gauge("lanemesh_provider_failure_share", "Failures of a provider, decaying, 0..1.", ["lane", "provider"])
CACHE = Counter("lanemesh_provider_cache_total", "What the cache did for a question.", ["lane", "use"])


def count_attempt(lane: str, provider: str, outcome: AttemptOutcome.ValueType, seconds: float) -> None:
    """One attempt that ended."""
    ATTEMPTS.labels(lane, provider, AttemptOutcome.Name(outcome).removeprefix("ATTEMPT_OUTCOME_").lower()).inc()
    SECONDS.labels(lane, provider).observe(seconds)


def tell_health(lane: str, provider: str, share: float) -> None:
    """How a provider stands; above 0.3 it is demoted, above 0.5 suspended."""
    FAILURES.labels(lane, provider).set(share)


def count_cache(lane: str, use: CacheUse.ValueType) -> None:
    """One question and what the cache did for it."""
    CACHE.labels(lane, CacheUse.Name(use).removeprefix("CACHE_USE_").lower()).inc()
