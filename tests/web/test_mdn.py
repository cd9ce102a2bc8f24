"""MDN: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

import pytest

from services.runtime.errors import Unavailable
from services.web.mdn import Mdn
from tests.simulator.client import ask
from tests.simulator.server import Simulator


@pytest.mark.parametrize(("language", "locale"), [("", "en-US"), ("en-GB", "en-US"), ("pt", "pt-BR"), ("fr-CA", "fr")])
async def test_the_language_becomes_a_locale(simulator: Simulator, language: str, locale: str) -> None:
    await ask(simulator, Mdn(), "locks api", max_results=80, language=language)
    (asked,) = simulator.asked
    assert asked.path == "/api/v1/search"
    assert asked.query == {"q": "locks api", "locale": locale, "size": "50"}


async def test_pages_are_read(simulator: Simulator) -> None:
    first, _ = await ask(simulator, Mdn())
    document = first.document
    assert document.url == "https://developer.mozilla.org/en-US/docs/Web/API/Web_Locks_API"
    assert document.content.startswith("The Web Locks API lets scripts acquire a lock")
    assert (document.source, document.licence) == ("docs", "CC BY-SA 2.5, Mozilla contributors")


async def test_nothing_found_is_empty(simulator: Simulator) -> None:
    assert await ask(simulator, Mdn(), "zyzzyva") == []
    assert await ask(simulator, Mdn(), language="tlh") == []


async def test_a_failure_is_one(simulator: Simulator) -> None:
    simulator.faults["mdn"] = "500"
    with pytest.raises(Unavailable):
        await ask(simulator, Mdn())
