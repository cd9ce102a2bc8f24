"""SEC EDGAR: what is requested, and how full, empty and faulty replies are read."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from aiohttp import web

from services.markets.edgar import Edgar
from services.runtime.errors import BadReply, Unavailable
from tests.markets.entities import APPLE, BERKSHIRE, EURO, GOLD, SAP, UNKNOWN, entity
from tests.providers.clock import Clock
from tests.simulator import edgar
from tests.simulator.client import ask
from tests.simulator.server import Simulator

DAY = 86_400.0
MAP = "/files/company_tickers.json"


async def test_the_ticker_leads_to_filings_and_facts(simulator: Simulator) -> None:
    await ask(simulator, Edgar(DAY), entities=(APPLE,))
    paths = [asked.path for asked in simulator.asked]
    concepts = "/api/xbrl/companyconcept/CIK0000320193/us-gaap"
    assert paths[0] == MAP
    assert sorted(paths[1:]) == [
        f"{concepts}/NetIncomeLoss.json",
        f"{concepts}/RevenueFromContractWithCustomerExcludingAssessedTax.json",
        f"{concepts}/Revenues.json",
        "/submissions/CIK0000320193.json",
    ]
    assert all(asked.headers["User-Agent"].startswith("lanemesh/") for asked in simulator.asked)


async def test_the_latest_filing_of_each_form_comes_whole(simulator: Simulator) -> None:
    found = [each for each in await ask(simulator, Edgar(DAY), entities=(APPLE,)) if not each.filing.fact]
    assert [each.filing.form for each in found] == ["8-K", "10-Q", "10-K"]
    annual = found[-1]
    assert (annual.kind, annual.filing.company, annual.filing.company_id) == ("filing", "Apple Inc.", "0000320193")
    assert annual.filing.accession == "0000320193-25-000079"
    assert annual.filing.filed_at.ToJsonString() == "2025-10-31T00:00:00Z"
    assert annual.filing.period_end.ToJsonString() == "2025-09-27T00:00:00Z"
    assert annual.document.url == "https://www.sec.gov/Archives/edgar/data/320193/000032019325000079/annual.htm"
    assert annual.document.content == (
        "Apple Inc. filed its annual report (form 10-K) for the period that ended on 2025-09-27 with the SEC on "
        "2025-10-31, accession number 0000320193-25-000079."
    )


async def test_the_latest_facts_are_of_the_shortest_period(simulator: Simulator) -> None:
    facts = {each.filing.fact: each for each in await ask(simulator, Edgar(DAY), entities=(APPLE,)) if each.filing.fact}
    assert set(facts) == {"revenue", "net income"}
    income = facts["net income"].filing
    assert (income.value, income.unit, income.form) == (24_100_000_000, "USD", "10-Q")
    assert "reported net income of 24,100,000,000 USD for the period that ended on 2026-06-27" in (
        facts["net income"].document.content
    )


async def test_a_bound_of_time_leads_to_earlier_filings(simulator: Simulator) -> None:
    before = datetime(2026, 1, 1, tzinfo=UTC)
    found = await ask(simulator, Edgar(DAY), entities=(APPLE,), published_before=before)
    assert [each.filing.form for each in found if not each.filing.fact] == ["10-K"]


async def test_a_class_of_share_is_spelled_with_a_dash(simulator: Simulator) -> None:
    assert (await ask(simulator, Edgar(DAY), entities=(BERKSHIRE,)))[0].filing.company_id == "0001067983"


async def test_a_ticker_that_nobody_files_under_is_no_evidence(simulator: Simulator) -> None:
    assert await ask(simulator, Edgar(DAY), entities=(UNKNOWN,)) == []
    assert [asked.path for asked in simulator.asked] == [MAP]


async def test_what_does_not_file_is_not_asked_for(simulator: Simulator) -> None:
    assert await ask(simulator, Edgar(DAY), entities=(EURO, GOLD, SAP)) == []
    assert simulator.asked == []


async def test_the_map_is_fetched_once_and_again_when_it_is_old(simulator: Simulator) -> None:
    clock = Clock()
    provider = Edgar(DAY, clock)
    microsoft = entity("MSFT")
    await asyncio.gather(*(ask(simulator, provider, entities=(each,)) for each in (APPLE, microsoft, APPLE)))
    assert len([asked for asked in simulator.asked if asked.path == MAP]) == 1
    clock.now += DAY
    await ask(simulator, provider, entities=(APPLE,))
    assert len([asked for asked in simulator.asked if asked.path == MAP]) == 2


async def test_one_page_that_fails_fails_the_whole(simulator: Simulator) -> None:
    def failing(request: web.Request, path: str) -> web.StreamResponse:
        return web.json_response({}, status=500) if "NetIncome" in path else edgar.answer(request, path)

    simulator.replies["edgar"] = failing
    with pytest.raises(Unavailable):
        await ask(simulator, Edgar(DAY), entities=(APPLE,))


@pytest.mark.parametrize("wrong", [{"val": None}, {"val": "NaN"}, {"filed": "soon"}])
async def test_what_cannot_be_is_a_bad_reply(simulator: Simulator, wrong: dict[str, object]) -> None:
    row = {"end": "2026-06-27", "val": 1, "accn": "a", "form": "10-Q", "filed": "2026-07-31"} | wrong

    def odd(request: web.Request, path: str) -> web.StreamResponse:
        body = {"cik": 320193, "entityName": "Apple Inc.", "units": {"USD": [row]}}
        return web.json_response(body) if "concept" in path else edgar.answer(request, path)

    simulator.replies["edgar"] = odd
    with pytest.raises(BadReply):
        await ask(simulator, Edgar(DAY), entities=(APPLE,))
