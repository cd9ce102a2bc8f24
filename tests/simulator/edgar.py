"""SEC EDGAR: the map of tickers, a company's submissions, and single concepts of its facts."""

from __future__ import annotations

from aiohttp import web

TICKERS = {
    "0": {"cik_str": 320193, "ticker": "AAPL", "title": "Apple Inc."},
    "1": {"cik_str": 789019, "ticker": "MSFT", "title": "MICROSOFT CORP"},
    "2": {"cik_str": 1067983, "ticker": "BRK-B", "title": "BERKSHIRE HATHAWAY INC"},
}
NAMES = {f"{row['cik_str']:010d}": str(row["title"]) for row in TICKERS.values()}
RECENT = {
    "accessionNumber": ["0000320193-26-000090", "0000320193-26-000081", "0000320193-26-000073", "0000320193-25-000079"],
    "filingDate": ["2026-08-20", "2026-08-01", "2026-07-31", "2025-10-31"],
    "reportDate": ["", "2026-07-31", "2026-06-27", "2025-09-27"],
    "form": ["4", "8-K", "10-Q", "10-K"],
    "primaryDocument": ["form4.xml", "event.htm", "quarter.htm", "annual.htm"],
}
CONCEPTS = {
    "NetIncomeLoss": [
        {"start": "2025-09-28", "end": "2026-06-27", "val": 88900000000, "filed": "2026-07-31"},
        {"start": "2026-03-29", "end": "2026-06-27", "val": 24100000000, "filed": "2026-07-31"},
        {"start": "2024-09-29", "end": "2025-09-27", "val": 112000000000, "filed": "2025-10-31"},
    ],
    "RevenueFromContractWithCustomerExcludingAssessedTax": [
        {"start": "2026-03-29", "end": "2026-06-27", "val": 98700000000, "filed": "2026-07-31"},
    ],
}


def answer(request: web.Request, path: str) -> web.Response:
    """Three companies with the same filings; 403 without a User-Agent, 404 for what nobody filed."""
    if not request.headers.get("User-Agent", "").startswith("lanemesh/"):
        return web.json_response({}, status=403)
    if path == "/files/company_tickers.json":
        return web.json_response(TICKERS)
    company, _, rest = path.partition("CIK")[2].removesuffix(".json").partition("/")
    if company not in NAMES:
        return web.json_response({}, status=404)
    if path.startswith("/submissions/"):
        return web.json_response({"cik": company, "name": NAMES[company], "filings": {"recent": RECENT, "files": []}})
    return _concept(company, rest.removeprefix("us-gaap/"))


def _concept(company: str, tag: str) -> web.Response:
    if tag not in CONCEPTS:
        return web.Response(text="<Error><Code>NoSuchKey</Code></Error>", content_type="application/xml", status=404)
    rows = [{**row, "accn": "0000320193-26-000073", "form": "10-Q"} for row in CONCEPTS[tag]]
    body = {"cik": int(company), "taxonomy": "us-gaap", "tag": tag, "entityName": NAMES[company]}
    return web.json_response({**body, "units": {"USD": rows}})
