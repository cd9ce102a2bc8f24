"""The preflight lane: advises on a question within half a second, and says why when it does not."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from lanemesh.v1.index_pb2 import DeleteRequest, RecordFailure, StatsResponse, UpsertRequest
from lanemesh.v1.lane_pb2 import (
    LANE_STATUS_BYPASSED,
    LANE_STATUS_OK,
    LANE_STATUS_PARTIAL,
    RetrieveRequest,
    RetrieveResponse,
)

from services.model.chat import ChatModel
from services.model.settings import load_model
from services.preflight import spelling
from services.preflight.advice import Advice
from services.preflight.advise import Read, by_rules, fill, read
from services.preflight.adviser import Advised
from services.preflight.attempt import attempt
from services.preflight.settings import PreflightSettings
from services.preflight.vocabulary import Vocabulary
from services.runtime import deadline, telemetry
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import LanemeshError, StartupError
from services.runtime.settings import load
from services.runtime.spans import engine_name

RULES = "rules"
# Why preflight did not run, with a sentence for a person.
BYPASSES = {
    "TURNED_OFF": "Preflight is turned off.",
    "SYSTEM_PRESSURE": "The mesh is too busy for advice.",
    "BUDGET_EXCEEDED": "There is no time left for advice.",
    "MODEL_UNAVAILABLE": "The model that must advise did not.",
}


class PreflightLane:
    """Advises by rules and vocabulary, and by a model where one is configured. It finds no evidence."""

    keeps = frozenset({"document"})

    def __init__(self, settings: PreflightSettings, vocabulary: Vocabulary, model: ChatModel | None) -> None:
        self._settings = settings
        self._vocabulary = vocabulary
        self._model = model

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """Fills `reply.preflight`, or says why there is no advice."""
        started = time.perf_counter()
        reply.engine = RULES
        until = self._until()
        if bypass := self._bypass(request, until):
            _say(reply, bypass)
        else:
            with ambient(until):
                await self._advise(request, reply, started)
        reply.preflight.elapsed_ms = (time.perf_counter() - started) * 1000

    async def upsert(self, records: Sequence[UpsertRequest]) -> Sequence[RecordFailure]:
        """Learns the words of public documents; of labelled ones nothing is kept."""
        await self._vocabulary.learn([record.document for record in records])
        return []

    async def delete(self, request: DeleteRequest) -> int:
        """Forgets documents by id; returns how many were known."""
        return await self._vocabulary.forget(request.document_ids)

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:  # noqa: ARG002  only public documents are kept
        """Counts the documents whose words are known."""
        return await self._vocabulary.stats()

    async def check(self) -> None:
        """Returns when advice would be given now; without its model the lane still advises by rules."""
        await self._vocabulary.check()

    async def close(self) -> None:
        """Closes vocabulary and model."""
        await self._vocabulary.close()
        if self._model is not None:
            await self._model.close()

    def _until(self) -> Deadline:
        """When the reply must be ready: within the lane's own budget, a little before the caller cuts it off."""
        own = Deadline.after(self._settings.budget_ms / 1_000)
        callers = deadline.current()
        return own.soft() if callers is None or own.remaining() < callers.remaining() else callers.soft()

    def _bypass(self, request: RetrieveRequest, until: Deadline) -> str:
        if not self._settings.enabled:
            return "TURNED_OFF"
        if request.system_pressure > self._settings.max_pressure:
            return "SYSTEM_PRESSURE"
        return "BUDGET_EXCEEDED" if until.remaining() < self._settings.minimum_ms / 1_000 else ""

    async def _advise(self, request: RetrieveRequest, reply: RetrieveResponse, began: float) -> None:
        query = read(request)
        spelt, problem = await self._spelling(query)
        advised = await self._ask_model(query, reply, began)
        if advised is None and self._settings.model == "required":
            _say(reply, "MODEL_UNAVAILABLE")
            return
        wording = by_rules(query) if advised is None else advised.advice
        # What rests on facts the model lacks stays beside its advice.
        advice = [*query.sanitized(), *spelt, *wording]
        proposed = {} if advised is None else advised.constraints
        fill(reply.preflight, query, advice, request.max_results, proposed)
        reply.preflight.model = RULES if advised is None or self._model is None else self._model.name
        _account(reply, problem)

    async def _spelling(self, query: Read) -> tuple[Sequence[Advice], LanemeshError | None]:
        """Corrections, and what kept the vocabulary from being asked."""
        try:
            if not query.is_prose:
                return (), None
            with telemetry.span(engine_name("vocabulary"), "client", engine=RULES):
                return await spelling.advise(query.question, self._vocabulary), None
        except LanemeshError as error:
            return (), error

    async def _ask_model(self, query: Read, reply: RetrieveResponse, began: float) -> Advised | None:
        if self._model is None or not query.is_prose:
            return None
        advised, account = await attempt(self._model, query.question, began)
        reply.attempts.append(account)
        return advised


async def open_lane(environment: Mapping[str, str]) -> PreflightLane:
    """The lane over its vocabulary, which is created on first use."""
    settings = load(PreflightSettings, environment)
    model = load_model(environment) if settings.model != "off" else None
    if settings.model == "required" and model is None:
        raise StartupError("LANEMESH_MODEL_URL is required when LANEMESH_PREFLIGHT_MODEL is required")
    vocabulary = await Vocabulary.open(
        settings.home / "data" / "preflight.sqlite3",
        readers=settings.readers,
        lock_wait=settings.lock_wait_ms / 1_000,
        listed=settings.vocabulary,
    )
    return PreflightLane(settings, vocabulary, ChatModel(model) if model else None)


def _say(reply: RetrieveResponse, bypass: str) -> None:
    reply.status = LANE_STATUS_BYPASSED
    reply.reason = reply.preflight.bypass_reason = bypass
    reply.message = BYPASSES[bypass]


def _account(reply: RetrieveResponse, problem: LanemeshError | None) -> None:
    count = len(reply.preflight.suggestions)
    said = f"{count} suggestion{'s' * (count != 1)}." if count else "The question needs no advice."
    failed = [f"The model gave no advice: {each.message}." for each in reply.attempts if each.message]
    if problem is not None:
        reply.status, reply.reason = LANE_STATUS_PARTIAL, problem.reason
        failed.append(f"Spelling was not checked: {problem.message}.")
    else:
        reply.status = LANE_STATUS_OK
    reply.message = " ".join([said, *failed])
