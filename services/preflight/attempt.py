"""What became of asking the model, in the terms of the contract."""

from __future__ import annotations

import time

from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import AttemptOutcome, ProviderAttempt

from services.model.chat import ChatModel
from services.model.errors import KEY_REFUSED
from services.model.rest import RESTING
from services.preflight.adviser import Advised, ask
from services.preflight.question import Question
from services.runtime.errors import DeadlinePassed, LanemeshError, Overloaded

# By the reason of the error; whatever else goes wrong is an error and nothing more.
_BY_REASON = {
    KEY_REFUSED: lane_pb2.ATTEMPT_OUTCOME_UNAUTHORIZED,
    RESTING: lane_pb2.ATTEMPT_OUTCOME_SUSPENDED,
    DeadlinePassed.reason: lane_pb2.ATTEMPT_OUTCOME_TIMEOUT,
    Overloaded.reason: lane_pb2.ATTEMPT_OUTCOME_RATE_LIMITED,
}


async def attempt(model: ChatModel, question: Question, began: float) -> tuple[Advised | None, ProviderAttempt]:
    """The model's advice, or None, and the account of the attempt. A model that fails is a value here.

    `began` is when the lane began to work on the question, by time.perf_counter.
    """
    tier = lane_pb2.PROVIDER_TIER_KEYED if model.keyed else lane_pb2.PROVIDER_TIER_KEYLESS
    account = ProviderAttempt(provider=model.name, tier=tier)
    started = time.perf_counter()
    account.started_ms = (started - began) * 1000
    advised: Advised | None = None
    try:
        advised = await ask(model, question)
        account.outcome = lane_pb2.ATTEMPT_OUTCOME_OK if advised.advice else lane_pb2.ATTEMPT_OUTCOME_EMPTY
        account.results = len(advised.advice)
    except LanemeshError as error:
        account.outcome, account.message = _outcome(error), error.message
    account.elapsed_ms = (time.perf_counter() - started) * 1000
    return advised, account


def _outcome(error: LanemeshError) -> AttemptOutcome.ValueType:
    return _BY_REASON.get(error.reason, lane_pb2.ATTEMPT_OUTCOME_ERROR)
