"""Stack Exchange: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from services.runtime.errors import BadReply, Overloaded, Refused, Unavailable
from services.web.stackexchange import StackExchange
from tests.simulator.client import ask
from tests.simulator.server import Simulator
from tests.simulator.stackexchange import packed


async def test_constraints_are_put_into_its_own_terms(simulator: Simulator) -> None:
    await ask(
        simulator,
        StackExchange(),
        "file lock",
        max_results=7,
        published_after=datetime(2020, 1, 1, tzinfo=UTC),
        published_before=datetime(2026, 1, 1, tzinfo=UTC),
    )
    (asked,) = simulator.asked
    assert asked.path == "/2.3/search/advanced"
    assert (asked.query["fromdate"], asked.query["todate"]) == ("1577836800", "1767225600")
    assert (asked.query["site"], asked.query["pagesize"], asked.query["filter"]) == ("stackoverflow", "7", "withbody")


async def test_questions_are_read_as_text(simulator: Simulator) -> None:
    first, second = await ask(simulator, StackExchange())
    document = first.document
    assert document.title == "How do I acquire a file lock & release it?"
    assert document.content == "I take a flock.\n\nflock(fd)\nwork()"
    assert (document.author, document.licence) == ("lockkeeper", "CC BY-SA 4.0, Stack Overflow")
    assert document.published_at.ToJsonString() == "2026-01-01T00:00:00Z"
    assert list(document.tags) == ["linux", "flock"]
    assert (second.document.author, second.document.licence) == ("", "CC BY-SA, Stack Overflow")


async def test_nothing_found_is_empty(simulator: Simulator) -> None:
    assert await ask(simulator, StackExchange(), "zyzzyva") == []


async def test_other_languages_are_not_asked_for(simulator: Simulator) -> None:
    assert await ask(simulator, StackExchange(), language="pt-BR") == []
    assert not simulator.asked


async def test_throttling_says_how_long_to_wait(simulator: Simulator) -> None:
    message = "too many requests from this IP, more requests available in 82216 seconds"
    body = {"error_id": 502, "error_name": "throttle_violation", "error_message": message}
    simulator.replies["stackexchange"] = lambda *_: packed(body, 400)
    with pytest.raises(Overloaded) as caught:
        await ask(simulator, StackExchange())
    assert caught.value.retry_after == 82_216


@pytest.mark.parametrize(("name", "error"), [("temporarily_unavailable", Unavailable), ("bad_parameter", Refused)])
async def test_an_error_in_the_body_is_an_error(simulator: Simulator, name: str, error: type[Exception]) -> None:
    simulator.replies["stackexchange"] = lambda *_: packed({"error_id": 1, "error_name": name}, 400)
    with pytest.raises(error):
        await ask(simulator, StackExchange())


async def test_a_reply_that_does_not_unpack_is_unreadable(simulator: Simulator) -> None:
    simulator.faults["stackexchange"] = "not-json"
    with pytest.raises(BadReply):
        await ask(simulator, StackExchange())
