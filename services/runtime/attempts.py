"""Provider attempts as spans, written from the account that the reply gives of them: so both tell the same."""

from __future__ import annotations

from collections.abc import Iterable

from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import AttemptOutcome, ProviderAttempt, ProviderTier

from services.runtime import telemetry
from services.runtime.spans import Span, provider_name

_NO_FAULT = frozenset({lane_pb2.ATTEMPT_OUTCOME_OK, lane_pb2.ATTEMPT_OUTCOME_EMPTY, lane_pb2.ATTEMPT_OUTCOME_CANCELLED})


def record_attempts(attempts: Iterable[ProviderAttempt], lane: str, above: Span, until: int) -> None:
    """One span for each attempt below that of its lane, which ends at `until` or later."""
    for attempt in attempts:
        # One that an earlier question began counts from where this question came to it.
        started = above.start + max(0, int(attempt.started_ms * 1e6))
        ended = above.start + int((attempt.started_ms + attempt.elapsed_ms) * 1e6)
        span = Span(provider_name(attempt.provider), "client", above.trace_id, above.span_id, min(started, until))
        span.end = max(span.start, min(ended, until))
        span.attributes = {
            "lane": lane,
            "provider": attempt.provider,
            "tier": ProviderTier.Name(attempt.tier).removeprefix("PROVIDER_TIER_"),
            "outcome": AttemptOutcome.Name(attempt.outcome).removeprefix("ATTEMPT_OUTCOME_"),
            "results": attempt.results,
        }
        span.failed = attempt.outcome not in _NO_FAULT
        telemetry.record(span)
