"""Brave: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from services.runtime.errors import Overloaded, Refused, Unauthenticated
from services.web.brave import Brave
from tests.simulator.client import ask
from tests.simulator.server import Simulator


async def test_constraints_are_put_into_its_own_terms(simulator: Simulator) -> None:
    await ask(
        simulator,
        Brave(),
        "canal lock " + "x" * 500,
        max_results=50,
        language="de-AT",
        published_after=datetime(2024, 1, 2, tzinfo=UTC),
        published_before=datetime(2026, 3, 4, tzinfo=UTC),
        sites=("arxiv.org", "nature.com"),
    )
    (asked,) = simulator.asked
    assert asked.path == "/res/v1/web/search"
    assert asked.query["q"] == "canal lock (site:arxiv.org OR site:nature.com)"
    assert (asked.query["count"], asked.query["search_lang"], asked.query["country"]) == ("20", "de", "AT")
    assert asked.query["freshness"] == "2024-01-02to2026-03-04"


async def test_the_key_travels_in_the_header_alone(simulator: Simulator) -> None:
    await ask(simulator, Brave())
    (asked,) = simulator.asked
    assert asked.headers["X-Subscription-Token"] == "simulated"
    assert "simulated" not in asked.query.values()
    assert not {"freshness", "search_lang", "country"} & set(asked.query)


async def test_a_result_is_cleaned_and_dated(simulator: Simulator) -> None:
    first, second, _ = await ask(simulator, Brave())
    assert first.document.id == "waterways.example.org/locks"
    assert first.document.content == (
        "Gates and sluices raise & lower boats.\nA lock needs two gates.\nThe first locks were flash locks."
    )
    assert first.document.published_at.ToJsonString() == "2026-05-04T10:00:00Z"
    assert (first.document.source, second.document.source) == ("web", "academic")
    assert not second.document.HasField("published_at")


async def test_nothing_found_is_empty(simulator: Simulator) -> None:
    assert await ask(simulator, Brave(), "zyzzyva") == []


@pytest.mark.parametrize(("fault", "error"), [("429", Overloaded), ("401", Unauthenticated), ("404", Refused)])
async def test_faults_are_told_apart(simulator: Simulator, fault: str, error: type[Exception]) -> None:
    simulator.faults["brave"] = fault
    with pytest.raises(error):
        await ask(simulator, Brave())
