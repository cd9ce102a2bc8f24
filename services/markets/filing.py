"""Filings and reported facts as evidence: typed, and said in one sentence."""

from __future__ import annotations

from datetime import datetime

from lanemesh.v1.evidence_pb2 import Evidence, FilingDetail

from services.markets.quote import SOURCE
from services.providers import evidence
from services.providers.provider import Entity
from services.runtime.errors import BadReply

LICENCE = "Public domain, U.S. Securities and Exchange Commission"
FORMS = {
    "10-K": "annual report",
    "10-Q": "quarterly report",
    "8-K": "current report",
    "20-F": "annual report",
    "40-F": "annual report",
    "6-K": "current report",
}


def filing(
    entity: Entity, detail: FilingDetail, url: str, filed_at: datetime | None, period_end: datetime | None
) -> Evidence:
    """The evidence of one filing, or of the fact that `detail` names; BadReply without the date of filing."""
    if filed_at is None:
        raise BadReply("the reply holds a date that cannot be")
    detail.filed_at.FromDatetime(filed_at)
    if period_end is not None:
        detail.period_end.FromDatetime(period_end)
    title, said = _fact(detail) if detail.fact else _whole(detail)
    found = evidence.page(
        url, title, said, published_at=filed_at, author=detail.company, source=SOURCE, licence=LICENCE, language="en"
    )
    found.kind = "filing"
    found.filing.CopyFrom(detail)
    found.entities.append(entity.name or entity.symbol)
    return found


def _whole(detail: FilingDetail) -> tuple[str, str]:
    period = f" for the period that ended on {_day(detail, 'period_end')}" if detail.HasField("period_end") else ""
    return (
        f"{detail.company}: {detail.form} of {_day(detail, 'filed_at')}",
        f"{detail.company} filed its {FORMS[detail.form]} (form {detail.form}){period} with the SEC "
        f"on {_day(detail, 'filed_at')}, accession number {detail.accession}.",
    )


def _fact(detail: FilingDetail) -> tuple[str, str]:
    amount = f"{detail.value:,.2f}".removesuffix(".00") + f" {detail.unit}"
    return (
        f"{detail.company}: {detail.fact} {amount}",
        f"{detail.company} reported {detail.fact} of {amount} for the period that ended on "
        f"{_day(detail, 'period_end')}, in form {detail.form} filed on {_day(detail, 'filed_at')}.",
    )


def _day(detail: FilingDetail, field: str) -> str:
    return f"{getattr(detail, field).ToDatetime():%Y-%m-%d}"
