"""What is remembered of a provider's failures: a share that decays, a suspension that grows, a probe to come back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

from services.runtime.deadline import Clock
from services.runtime.settings import setting

# Successes assumed of a provider that nobody knows yet, so that one failure does not suspend it.
BENEFIT_OF_DOUBT = 2.0


@dataclass(frozen=True, slots=True)
class HealthSettings:
    """When a provider is demoted and suspended, and for how long."""

    half_life: float = setting("LANEMESH_PROVIDER_HALF_LIFE_SECONDS", 120.0, low=1.0)
    demoted_above: float = setting("LANEMESH_PROVIDER_DEMOTED_ABOVE", 0.3, low=0.0, high=1.0)
    suspended_above: float = setting("LANEMESH_PROVIDER_SUSPENDED_ABOVE", 0.5, low=0.0, high=1.0)
    suspension: float = setting("LANEMESH_PROVIDER_SUSPENSION_SECONDS", 5.0, low=0.0)
    longest_suspension: float = setting("LANEMESH_PROVIDER_LONGEST_SUSPENSION_SECONDS", 300.0, low=0.0)
    longest_retry_after: float = setting("LANEMESH_PROVIDER_LONGEST_RETRY_AFTER_SECONDS", 86_400.0, low=0.0)


class Standing(Enum):
    """How a provider stands now."""

    SOUND = "sound"
    DEMOTED = "demoted"
    SUSPENDED = "suspended"


class Health:
    """The memory of one provider."""

    def __init__(self, settings: HealthSettings, clock: Clock = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._good = 0.0
        self._bad = 0.0
        self._counted_at = clock()
        self._suspended_until: float | None = None
        self._suspensions = 0
        self._probing = False

    def share(self) -> float:
        """The share of failures, the recent ones weighing most, 0..1."""
        self._decay()
        return self._bad / (self._good + self._bad + BENEFIT_OF_DOUBT)

    def standing(self) -> Standing:
        """How it stands; a suspension lasts until a probe has ended it."""
        if self._suspended_until is not None:
            return Standing.SUSPENDED
        return Standing.DEMOTED if self.share() > self._settings.demoted_above else Standing.SOUND

    def admit(self) -> bool:
        """Whether it may be asked now. Past its suspension it may once; that is the probe."""
        if self._suspended_until is None:
            return True
        if self._probing or self.wait() > 0.0:
            return False
        self._probing = True
        return True

    def wait(self) -> float:
        """Seconds until a suspended provider may be probed; 0 otherwise."""
        return 0.0 if self._suspended_until is None else max(self._suspended_until - self._clock(), 0.0)

    def succeeded(self) -> None:
        """It answered; a probe that succeeds wipes the slate."""
        self._decay()
        if self._probing:
            self._bad, self._suspensions, self._suspended_until, self._probing = 0.0, 0, None, False
        self._good += 1.0

    def failed(self, retry_after: float | None = None) -> None:
        """It did not answer, or answered too late; `retry_after` are the seconds it asked to be left alone."""
        self._decay()
        self._bad += 1.0
        probed, self._probing = self._probing, False
        if retry_after is not None:
            self._suspend(min(retry_after, self._settings.longest_retry_after))
        elif probed or (self._suspended_until is None and self.share() > self._settings.suspended_above):
            self._suspend(min(self._settings.suspension * 2**self._suspensions, self._settings.longest_suspension))
            # Beyond this the longest suspension has been reached and the power would only grow.
            self._suspensions = min(self._suspensions + 1, 30)

    def rest(self, seconds: float) -> None:
        """It answered, and asked to be left alone for a while."""
        self._suspend(min(seconds, self._settings.longest_retry_after))

    def released(self) -> None:
        """It was given up for reasons that are not its own."""
        self._probing = False

    def adjustment(self, boost: float) -> float:
        """What its results gain or lose in the ranking, -1..1."""
        return max(-1.0, min(1.0, boost - self.share()))

    def _suspend(self, seconds: float) -> None:
        until = self._clock() + seconds
        self._suspended_until = max(until, self._suspended_until or until)

    def _decay(self) -> None:
        now = self._clock()
        kept = 0.5 ** ((now - self._counted_at) / self._settings.half_life)
        self._good, self._bad, self._counted_at = self._good * kept, self._bad * kept, now
