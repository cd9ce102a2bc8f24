"""One provider asked for real: the real client, over loopback, to the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.providers.http import Client, Http
from services.providers.provider import Provider, Question
from services.providers.settings import Access, ProviderSettings, read_access
from services.runtime.deadline import Deadline
from services.runtime.settings import load
from tests.simulator.server import Simulator

# Ample: tests end by what happens, not by time.
PATIENCE = 30.0


async def ask(
    simulator: Simulator,
    provider: Provider,
    query: str = "canal lock",
    *,
    deadline: Deadline | None = None,
    **constraints: Any,
) -> Sequence[Evidence]:
    """What the provider finds; `constraints` are fields of Question."""
    settings = load(ProviderSettings, simulator.environment())
    access = read_access([provider.profile], settings, simulator.environment())[provider.profile.name]
    question = Question(query, constraints.pop("max_results", 10), **constraints)
    return await ask_with(settings, access, provider, question, deadline or Deadline.after(PATIENCE))


async def ask_with(
    settings: ProviderSettings, access: Access, provider: Provider, question: Question, deadline: Deadline
) -> Sequence[Evidence]:
    """The same with settings and access of the test's own."""
    client = Client(settings)
    try:
        return await provider.search(question, Http(client, access, deadline))
    finally:
        await client.close()
