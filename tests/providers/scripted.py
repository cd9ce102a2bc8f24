"""Providers as plain as can be, over real HTTP to the simulator, and a lane of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.lane_pb2 import AttemptOutcome, Filters, RetrieveRequest, RetrieveResponse

from services.providers import evidence
from services.providers.http import Get, Http
from services.providers.lane import ProviderLane, open_provider_lane
from services.providers.provider import Base, Profile, Question
from tests.simulator.server import Answer, Simulator


@dataclass
class Scripted:
    """Reads {"urls": [...]}. A name in capitals needs a key."""

    name: str
    boost: float = 0.0
    sites: tuple[str, ...] = ()

    @property
    def profile(self) -> Profile:
        key = f"{self.name}_KEY" if self.name.isupper() else ""
        base = Base(f"{self.name}_URL", "https://unused.example")
        return Profile(self.name, (base,), key_variable=key, boost=self.boost, sites=self.sites)

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        params = {"q": question.query, "n": question.max_results}
        reply = await http.json(Get("/search", params=params, headers={"X-Key": http.key}))
        return [evidence.page(url, url, f"text of {url}") for url in reply["urls"]]


def saying(*urls: str) -> Answer:
    """A reply with these results."""
    return lambda *_: web.json_response({"urls": [f"https://{url}" for url in urls]})


@asynccontextmanager
async def lane_of(
    simulator: Simulator, steps: str, *, cache_seconds: float = 300, frame: Any = None, **environment: str
) -> AsyncIterator[ProviderLane]:
    """A web lane of scripted providers; `steps` names them, as in "A B cd"."""
    providers = [[Scripted(name) for name in step] for step in steps.split()]
    more = {} if frame is None else {"frame": frame}
    lane = await open_provider_lane(
        "web", providers, simulator.environment() | environment, cache_seconds=cache_seconds, **more
    )
    try:
        yield lane
    finally:
        await lane.close()


async def search(lane: ProviderLane, query: str = "lock", max_results: int = 3, **filters: Any) -> RetrieveResponse:
    """One question, without a deadline."""
    reply = RetrieveResponse()
    request = RetrieveRequest(query=query, max_results=max_results, filters=Filters(**filters))
    await lane.retrieve(request, reply)
    return reply


def found(reply: RetrieveResponse) -> list[str]:
    return [each.document.id for each in reply.evidence]


def outcomes(reply: RetrieveResponse) -> dict[str, str]:
    """How each provider fared, in the order in which they were started."""
    return {row.provider: AttemptOutcome.Name(row.outcome).removeprefix("ATTEMPT_OUTCOME_") for row in reply.attempts}
