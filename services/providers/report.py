"""The reply of a provider lane: what was found, who was asked, what the cache did, and an honest status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.lane_pb2 import (
    ATTEMPT_OUTCOME_CANCELLED,
    ATTEMPT_OUTCOME_EMPTY,
    ATTEMPT_OUTCOME_OK,
    CACHE_USE_HIT,
    CACHE_USE_JOINED,
    CACHE_USE_MISS,
    CACHE_USE_STALE,
    LANE_STATUS_ERROR,
    LANE_STATUS_PARTIAL,
    AttemptOutcome,
    CacheUse,
    ProviderAttempt,
    RetrieveResponse,
)

from services.providers.cache import Entry
from services.providers.flight import Flight
from services.providers.merge import Keys, merge
from services.providers.provider import Question

NO_MATCH = "NO_MATCH"
PROVIDERS_FAILED = "PROVIDERS_FAILED"
STALE = "STALE"
QUERY_SHOWN = 100
_NO_FAULT = {ATTEMPT_OUTCOME_OK, ATTEMPT_OUTCOME_EMPTY, ATTEMPT_OUTCOME_CANCELLED}
# Of several questions the reply tells the use that stands first here.
_CACHE_ORDER = (CACHE_USE_STALE, CACHE_USE_MISS, CACHE_USE_JOINED, CACHE_USE_HIT)


class State(Enum):
    """What became of a question."""

    FOUND = "found"
    NOTHING = "nothing"
    STALE = "stale"
    FAILED = "failed"


@dataclass(slots=True)
class Asking:
    """One question of a request, under way. A fresh entry is a hit; a stale one serves when all else fails."""

    question: Question
    entry: Entry | None = None
    flight: Flight | None = None
    cache: CacheUse.ValueType = CACHE_USE_MISS
    # Set when the caller stayed until the answer was there.
    answered: bool = False

    def told(self) -> Told:
        """What there is for it now."""
        if self.cache == CACHE_USE_HIT and self.entry is not None:
            return Told(State.FOUND, self.entry.evidence(), self.cache)
        run = self.flight.run if self.flight else None
        attempts = [(attempt.started, attempt.report(self.answered)) for attempt in run.attempts] if run else []
        found = run.evidence() if run else []
        if found:
            return Told(State.FOUND, found, self.cache, attempts)
        if self.answered and all(row.outcome == ATTEMPT_OUTCOME_EMPTY for _, row in attempts):
            return Told(State.NOTHING, [], self.cache, attempts)
        if self.entry is not None:
            return Told(State.STALE, _as_stale(self.entry), CACHE_USE_STALE, attempts)
        return Told(State.FAILED, [], self.cache, attempts)


@dataclass(frozen=True, slots=True)
class Told:
    """A question's part of the reply; attempts come with the time they were started."""

    state: State
    evidence: Sequence[Evidence]
    cache: CacheUse.ValueType
    attempts: Sequence[tuple[float, ProviderAttempt]] = ()


def write(reply: RetrieveResponse, askings: Sequence[Asking], keys: Keys, limit: int, began: float) -> None:
    """Everything known now: called when the work is done, and just so when the deadline cuts it short.

    `began` is when the lane began to work on the question, on the clock that attempts are started by.
    """
    parts = [asking.told() for asking in askings]
    found = parts[0].evidence if len(parts) == 1 else merge((part.evidence for part in parts), keys)
    reply.evidence.extend(found[:limit])
    reply.total_found = len(found)
    attempts = sorted((each for part in parts for each in part.attempts), key=lambda each: each[0])
    for started, row in attempts:
        row.started_ms = (started - began) * 1000
        reply.attempts.append(row)
    reply.cache = next(use for use in _CACHE_ORDER if any(part.cache == use for part in parts))
    _judge(reply, {part.state for part in parts}, askings)


def _judge(reply: RetrieveResponse, states: set[State], askings: Sequence[Asking]) -> None:
    asked = ", ".join(f'"{asking.question.query[:QUERY_SHOWN]}"' for asking in askings[:3])
    if State.FAILED in states:
        reply.status = LANE_STATUS_PARTIAL if reply.evidence else LANE_STATUS_ERROR
        reply.reason, reply.message = PROVIDERS_FAILED, f"Providers failed: {_failures(reply.attempts)}."
    elif State.STALE in states:
        reply.status, reply.reason = LANE_STATUS_PARTIAL, STALE
        reply.message = f"From the cache, past its time, because providers failed: {_failures(reply.attempts)}."
    elif not reply.evidence:
        names = ", ".join(row.provider for row in reply.attempts) or "none that could answer it"
        reply.reason, reply.message = NO_MATCH, f"Nothing was found for {asked}; asked: {names}."


def _failures(attempts: Sequence[ProviderAttempt]) -> str:
    failed = [
        f"{row.provider} ({AttemptOutcome.Name(row.outcome).removeprefix('ATTEMPT_OUTCOME_').lower()})"
        for row in attempts
        if row.outcome not in _NO_FAULT
    ]
    return ", ".join(dict.fromkeys(failed)) or "none was asked"


def _as_stale(entry: Entry) -> list[Evidence]:
    found = entry.evidence()
    for evidence in found:
        evidence.stale = True
    return found
