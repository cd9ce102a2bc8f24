"""What provider lanes export: attempts by outcome, their time, and how providers stand."""

from __future__ import annotations

import logging

from lanemesh.v1.lane_pb2 import ATTEMPT_OUTCOME_SUSPENDED, AttemptOutcome, ProviderTier

from services.providers.health import Health, Standing
from services.runtime.metrics import Counters, Histograms, Levels

log = logging.getLogger(__name__)

ATTEMPTS = Counters("lanemesh_provider_attempts", "Provider attempts.", ["lane", "provider", "tier", "outcome"])
SECONDS = Histograms(
    "lanemesh_provider_seconds",
    "Time until a provider attempt ended.",
    (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0),
    ["lane", "provider"],
)
FAILURES = Levels("lanemesh_provider_failure_share", "Failures of a provider, decaying, 0..1.", ["lane", "provider"])
STANDING = Levels("lanemesh_provider_standing", "0 sound, 1 demoted, 2 suspended.", ["lane", "provider"])
DEMOTIONS = Counters("lanemesh_provider_demotions", "Times a provider lost standing.", ["lane", "provider", "to"])

_LEVELS = {Standing.SOUND: 0.0, Standing.DEMOTED: 1.0, Standing.SUSPENDED: 2.0}


def count_attempt(
    lane: str,
    provider: str,
    tier: ProviderTier.ValueType,
    outcome: AttemptOutcome.ValueType,
    seconds: float,
) -> None:
    """One attempt that ended; one at a suspended provider took no time and says nothing of it."""
    ATTEMPTS.of(lane, provider, _word(ProviderTier.Name(tier)), _word(AttemptOutcome.Name(outcome))).inc()
    if outcome != ATTEMPT_OUTCOME_SUSPENDED:
        SECONDS.of(lane, provider).observe(seconds)


def tell_health(lane: str, provider: str, health: Health) -> None:
    """How a provider stands after an attempt; a loss of standing is counted and logged."""
    FAILURES.of(lane, provider).set(health.share())
    standing = health.standing()
    shown = STANDING.of(lane, provider)
    if _LEVELS[standing] > shown.value:
        DEMOTIONS.of(lane, provider, standing.value).inc()
        log.warning("provider %s", standing.value, extra={"lane": lane, "provider": provider})
    shown.set(_LEVELS[standing])


def _word(name: str) -> str:
    """`ATTEMPT_OUTCOME_RATE_LIMITED` as `rate_limited`."""
    return name.split("_", 2)[2].lower()
