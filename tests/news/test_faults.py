"""Everything that can go wrong with a provider: the attempt is told apart, and the lane answers from the next."""

from __future__ import annotations

import asyncio

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

from services.news.gdelt import Gdelt
from services.news.guardian import Guardian
from services.news.hackernews import HackerNews
from services.news.newsapi import NewsApi
from services.news.rss import Rss
from services.providers.provider import Provider
from services.providers.run import Sleep
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
from tests.news.timed import timed_lane
from tests.simulator.client import ask
from tests.simulator.faults import FAULTS
from tests.simulator.server import Simulator

PROVIDERS: list[Provider] = [Guardian(), NewsApi(), Gdelt(), HackerNews(), Rss()]
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


def error_of(provider: Provider, fault: str) -> type[LanemeshError]:
    if provider.profile.name == "rss" and fault == "slow-body":
        # It begins as JSON, which no feed is.
        return BadReply
    return ERRORS.get(fault, BadReply)


@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.profile.name)
async def test_each_fault_is_an_error_of_its_kind(simulator: Simulator, provider: Provider, fault: str) -> None:
    simulator.faults[provider.profile.name] = fault
    error = error_of(provider, fault)
    deadline = Deadline.after(SOON) if error is DeadlinePassed else None
    with pytest.raises((error, *MISREAD) if fault == "other-shape" else error):
        await ask(simulator, provider, deadline=deadline)


@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_the_next_provider_answers(simulator: Simulator, fault: str) -> None:
    simulator.faults["guardian"] = fault
    error = error_of(PROVIDERS[0], fault)
    lane = timed_lane(simulator, patience(steps=1 if error is DeadlinePassed else 0))
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(query="canal lock", max_results=10), reply)
    await lane.close()
    assert [(row.provider, row.outcome) for row in reply.attempts] == [
        ("guardian", OUTCOMES.get(error, ATTEMPT_OUTCOME_ERROR)),
        ("newsapi", ATTEMPT_OUTCOME_OK),
    ]
    assert [list(evidence.providers) for evidence in reply.evidence] == [["newsapi"]] * 3


def patience(steps: int) -> Sleep:
    """Is at its end at once for so many steps, and endless for those after them."""
    left = iter(range(steps))

    async def sleep(_seconds: float) -> None:
        if next(left, None) is None:
            await asyncio.Event().wait()

    return sleep
