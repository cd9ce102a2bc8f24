"""SEC EDGAR: a company's latest filings and its latest reported revenue and income, found by its ticker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence, FilingDetail

from services.markets.filing import FORMS, filing
from services.markets.listing import listing_of
from services.markets.quote import is_share, number
from services.providers import dates
from services.providers.http import Get, Http
from services.providers.provider import Base, Entity, Profile, Question
from services.runtime.deadline import Clock
from services.runtime.errors import Refused

FILES = Base("LANEMESH_EDGAR_URL", "https://www.sec.gov")
DATA = Base("LANEMESH_EDGAR_DATA_URL", "https://data.sec.gov")
ARCHIVE = "https://www.sec.gov/Archives/edgar/data"
# Facts are asked for one by one: a company's facts in one reply take megabytes. Revenue has two names, of which a
# company uses one.
CONCEPTS = {
    "RevenueFromContractWithCustomerExcludingAssessedTax": "revenue",
    "Revenues": "revenue",
    "NetIncomeLoss": "net income",
}
NOT_FOUND = "(HTTP 404)"


class Edgar:
    """Companies that file with the SEC. It asks for a User-Agent with contact, and at most 10 requests a second."""

    profile = Profile(name="edgar", bases=(FILES, DATA), sites=("sec.gov",))

    def __init__(self, tickers_seconds: float, clock: Clock = time.monotonic) -> None:
        self._tickers_seconds = tickers_seconds
        self._clock = clock
        self._numbers: Mapping[str, int] = {}
        self._stale_at = clock()
        self._reading = asyncio.Lock()

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Filings and facts of each company, the latest first."""
        companies = [one for one in question.entities if is_share(one) and not listing_of(one.symbol).suffix]
        return list(chain(*[await self._company(entity, question, http) for entity in companies]))

    async def _company(self, entity: Entity, question: Question, http: Http) -> Sequence[Evidence]:
        number = (await self._tickers(http)).get(entity.symbol.replace(".", "-"))
        if number is None:
            return ()
        try:
            async with asyncio.TaskGroup() as group:
                filings = group.create_task(_filings(entity, number, question, http))
                facts = [group.create_task(_fact(entity, number, concept, http)) for concept in CONCEPTS]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [*filings.result(), *chain(*(fact.result() for fact in facts))]

    async def _tickers(self, http: Http) -> Mapping[str, int]:
        """Company numbers by ticker, fetched once for all who ask and kept for a while."""
        async with self._reading:
            if not self._numbers or self._clock() >= self._stale_at:
                rows = await http.json(Get("/files/company_tickers.json"))
                self._numbers = {row["ticker"]: int(row["cik_str"]) for row in rows.values()}
                self._stale_at = self._clock() + self._tickers_seconds
            return self._numbers


async def _filings(entity: Entity, company: int, question: Question, http: Http) -> Sequence[Evidence]:
    """The latest filing of each form within the bounds of time."""
    reply = await http.json(Get(f"/submissions/CIK{company:010d}.json", base=DATA))
    recent = reply["filings"]["recent"]
    columns = ("form", "accessionNumber", "filingDate", "reportDate", "primaryDocument")
    latest: dict[str, Evidence] = {}
    for form, accession, filed, period, document in zip(*(recent[column] for column in columns), strict=True):
        if form not in FORMS or form in latest:
            continue
        detail = FilingDetail(company=reply["name"], company_id=f"{company:010d}", form=form, accession=accession)
        url = f"{ARCHIVE}/{company}/{accession.replace('-', '')}/{document}"
        found = filing(entity, detail, url, dates.iso(filed), dates.iso(period))
        if _before(found, question):
            latest[form] = found
    return list(latest.values())


def _before(found: Evidence, question: Question) -> bool:
    """Whether it is old enough; the rows come newest first, so a later bound needs no look."""
    before = question.published_before
    return before is None or found.filing.filed_at.seconds < before.timestamp()


async def _fact(entity: Entity, company: int, concept: str, http: Http) -> Sequence[Evidence]:
    path = f"/api/xbrl/companyconcept/CIK{company:010d}/us-gaap/{concept}.json"
    try:
        reply = await http.json(Get(path, base=DATA))
    except Refused as error:
        # A company that never reported the concept has no such page.
        if NOT_FOUND in error.message:
            return ()
        raise
    rows = [(unit, row) for unit, own in reply["units"].items() for row in own if row["form"] in FORMS]
    if not rows:
        return ()
    # Of one end the shortest period: the quarter, not the year to date. The last filing of it counts.
    unit, row = max(rows, key=lambda each: (each[1]["end"], each[1].get("start", ""), each[1]["filed"]))
    return [_read_fact(entity, reply, CONCEPTS[concept], unit, row, f"{DATA.url}{path}")]


def _read_fact(
    entity: Entity, reply: Mapping[str, Any], fact: str, unit: str, row: Mapping[str, Any], url: str
) -> Evidence:
    detail = FilingDetail(
        company=reply["entityName"],
        company_id=f"{int(reply['cik']):010d}",
        form=row["form"],
        accession=row["accn"],
        fact=fact,
        value=number(row["val"]),
        unit=unit,
    )
    return filing(entity, detail, url, dates.iso(row["filed"]), dates.iso(row["end"]))
