"""Everything that can go wrong with a provider: the attempt is told apart, and the lane answers from the next."""

from __future__ import annotations

import pytest
from lanemesh.v1.lane_pb2 import (
    ATTEMPT_OUTCOME_CANCELLED,
    ATTEMPT_OUTCOME_ERROR,
    ATTEMPT_OUTCOME_OK,
    ATTEMPT_OUTCOME_RATE_LIMITED,
    ATTEMPT_OUTCOME_UNAUTHORIZED,
    RetrieveRequest,
    RetrieveResponse,
)

from services.markets.lane import MarketsSettings, steps
from services.providers.provider import Provider
from services.runtime.deadline import Deadline
from services.runtime.errors import (
    BadReply,
    DeadlinePassed,
    LanemeshError,
    Overloaded,
    Refused,
    Unauthenticated,
    Unavailable,
)
from tests.markets.entities import APPLE
from tests.markets.timed import patience, timed_lane
from tests.simulator.client import ask
from tests.simulator.faults import FAULTS
from tests.simulator.server import Simulator

NAMES = [provider.profile.name for step in steps(MarketsSettings()) for provider in step]
ERRORS: dict[str, type[LanemeshError]] = {
    "429": Overloaded,
    "429-date": Overloaded,
    "503": Overloaded,
    "401": Unauthenticated,
    "403": Unauthenticated,
    "404": Refused,
    "500": Unavailable,
    "hang-up": Unavailable,
    "slow-headers": DeadlinePassed,
    "slow-body": DeadlinePassed,
    "redirect": Refused,
    "redirect-loop": Refused,
}
OUTCOMES = {
    Overloaded: ATTEMPT_OUTCOME_RATE_LIMITED,
    Unauthenticated: ATTEMPT_OUTCOME_UNAUTHORIZED,
    # It is given up, because the next provider has answered by then.
    DeadlinePassed: ATTEMPT_OUTCOME_CANCELLED,
}
SOON = 0.05
# Sound JSON of another shape is for the attempt to tell; a provider need not foresee it.
MISREAD = (KeyError, TypeError, AttributeError)


def provider_of(name: str) -> Provider:
    return next(one for step in steps(MarketsSettings()) for one in step if one.profile.name == name)


def error_of(name: str, fault: str) -> type[LanemeshError]:
    # It is asked for CSV, so that JSON is refused by its type before it is read, and a page is read as a message.
    if name == "stooq" and fault in ("slow-body", "wrong-type"):
        return BadReply if fault == "slow-body" else Refused
    return ERRORS.get(fault, BadReply)


@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.parametrize("name", NAMES)
async def test_each_fault_is_an_error_of_its_kind(simulator: Simulator, name: str, fault: str) -> None:
    simulator.faults[name] = fault
    error = error_of(name, fault)
    deadline = Deadline.after(SOON) if error is DeadlinePassed else None
    with pytest.raises((error, *MISREAD) if fault == "other-shape" else error):
        await ask(simulator, provider_of(name), entities=(APPLE,), deadline=deadline)


@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_the_next_provider_answers(simulator: Simulator, fault: str) -> None:
    simulator.faults["alphavantage"] = fault
    error = error_of("alphavantage", fault)
    lane = timed_lane(simulator, patience(1 if error is DeadlinePassed else 0))
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(query="Apple stock", max_results=2), reply)
    await lane.close()
    assert [(row.provider, row.outcome) for row in reply.attempts] == [
        ("alphavantage", OUTCOMES.get(error, ATTEMPT_OUTCOME_ERROR)),
        ("finnhub", ATTEMPT_OUTCOME_OK),
        ("fmp", ATTEMPT_OUTCOME_OK),
    ]
    assert [list(found.providers) for found in reply.evidence] == [["finnhub"], ["fmp"]]
