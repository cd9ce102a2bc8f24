"""One provider asked once: its reply becomes evidence, its failure an outcome, and its health hears of both."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.lane_pb2 import (
    ATTEMPT_OUTCOME_CANCELLED,
    ATTEMPT_OUTCOME_EMPTY,
    ATTEMPT_OUTCOME_OK,
    ATTEMPT_OUTCOME_SUSPENDED,
    ATTEMPT_OUTCOME_TIMEOUT,
    ATTEMPT_OUTCOME_UNSPECIFIED,
    AttemptOutcome,
    ProviderAttempt,
)

from services.providers import metrics
from services.providers.errors import outcome
from services.providers.fit import fits
from services.providers.http import Client, Http
from services.providers.provider import Question
from services.providers.sources import Source
from services.runtime.deadline import Deadline
from services.runtime.errors import BadReply, LanemeshError, Overloaded

log = logging.getLogger(__name__)

_LATE = "had not answered when the answer was due"
_NOT_NEEDED = "given up because enough results were there"


@dataclass(slots=True)
class Attempt:
    """How one provider is faring, or has fared. `outcome` is unspecified while it runs."""

    source: Source
    question: Question
    outcome: AttemptOutcome.ValueType = ATTEMPT_OUTCOME_UNSPECIFIED
    message: str = ""
    evidence: Sequence[Evidence] = ()
    started: float = field(default_factory=time.perf_counter)
    elapsed: float = 0.0
    # Set when the next step was started because of it, and when the answer was given without it.
    slow: bool = False
    late: bool = False

    async def run(self, client: Client, lane: str) -> None:
        """Asks, and never raises but when it is cancelled."""
        name = self.source.name
        try:
            await self._ask(client)
        except asyncio.CancelledError:
            self._cancelled()
            raise
        finally:
            self.elapsed = time.perf_counter() - self.started
            profile = self.source.provider.profile
            metrics.count_attempt(lane, name, profile.tier, self.outcome, self.elapsed)
            metrics.tell_health(lane, name, self.source.health)

    async def _ask(self, client: Client) -> None:
        http = Http(client, self.source.access, Deadline.after(client.settings.provider_ms / 1000))
        try:
            self._succeeded(await self.source.provider.search(self.question, http), bool(client.settings.simulator))
            if http.rest > 0.0:
                self.source.health.rest(http.rest)
        except LanemeshError as error:
            self._failed(error)
        except Exception as error:  # noqa: BLE001  a reply of another shape must not cost the other providers
            # Only kind and place are logged: the text may quote the reply.
            log.warning("%s: misread, %s", self.source.name, type(error).__name__, extra={"place": _place(error)})
            self._failed(BadReply("the reply has another form than expected"))

    def _succeeded(self, found: Sequence[Evidence], simulated: bool) -> None:
        profile = self.source.provider.profile
        kept = [evidence for evidence in found if fits(evidence.document, self.question, profile)]
        self.evidence = kept[: self.question.max_results]
        adjustment = self.source.health.adjustment(profile.boost)
        for evidence in self.evidence:
            evidence.providers[:] = [profile.name]
            evidence.provider_adjustment = adjustment
            evidence.simulated = simulated
        self.outcome = ATTEMPT_OUTCOME_OK if self.evidence else ATTEMPT_OUTCOME_EMPTY
        self.message = "" if self.evidence else "answered without results"
        if self.late:
            self.source.health.failed()
        else:
            self.source.health.succeeded()

    def _failed(self, error: LanemeshError) -> None:
        self.outcome, self.message = outcome(error), error.message
        self.source.health.failed(error.retry_after if isinstance(error, Overloaded) else None)

    def _cancelled(self) -> None:
        self.outcome, self.message = ATTEMPT_OUTCOME_CANCELLED, _NOT_NEEDED
        if self.slow:
            self.source.health.failed()
        else:
            self.source.health.released()

    def report(self, answered: bool) -> ProviderAttempt:
        """Its row in the reply; one that still runs lost the race, or missed the deadline."""
        attempt = ProviderAttempt(
            provider=self.source.name,
            tier=self.source.provider.profile.tier,
            outcome=self.outcome,
            elapsed_ms=self.elapsed * 1000,
            results=len(self.evidence),
            message=self.message,
        )
        if self.outcome == ATTEMPT_OUTCOME_UNSPECIFIED:
            attempt.outcome = ATTEMPT_OUTCOME_CANCELLED if answered else ATTEMPT_OUTCOME_TIMEOUT
            attempt.message = _NOT_NEEDED if answered else _LATE
            attempt.elapsed_ms = (time.perf_counter() - self.started) * 1000
        return attempt


def suspended(source: Source, question: Question, lane: str) -> Attempt:
    """The row of a provider that is not asked because its health is bad."""
    wait = source.health.wait()
    message = f"suspended; the next probe is in {wait:.0f} s" if wait else "suspended; a probe is under way"
    metrics.count_attempt(lane, source.name, source.provider.profile.tier, ATTEMPT_OUTCOME_SUSPENDED, 0.0)
    return Attempt(source, question, ATTEMPT_OUTCOME_SUSPENDED, message)


def _place(error: Exception) -> str:
    """File and line where the reply was misread."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else ""
