"""Stooq: /q/l/ with one line of CSV; N/D for what it has no price of."""

from __future__ import annotations

from aiohttp import web

HEADER = "Symbol,Date,Time,Open,High,Low,Close,Volume"
ROWS = {
    "aapl.us": "AAPL.US,2026-09-01,22:00:08,230.3,232.1,229.8,231.5,48120331",
    "msft.us": "MSFT.US,2026-09-01,22:00:08,515.1,516.0,511.2,512.7,20114090",
    "brk-b.us": "BRK-B.US,2026-09-01,22:00:08,497.1,499.0,496.2,498.3,3120455",
    "^spx": "^SPX,2026-09-01,23:00:00,6492.7,6495.2,6471.1,6480.2,2840000000",
    "eurusd": "EURUSD,2026-09-01,16:05:31,1.1630,1.1655,1.1622,1.1642,N/D",
    "xauusd": "XAUUSD,2026-01-15,16:05:31,3499.1,3525.2,3490.0,3520.6,N/D",
}


def answer(request: web.Request, path: str) -> web.Response:
    """Six symbols."""
    symbol = request.query.get("s", "")
    if path != "/q/l/" or request.query.get("f") != "sd2t2ohlcv":
        return web.Response(text="<html><body>Stooq</body></html>", content_type="text/html")
    row = ROWS.get(symbol, f"{symbol.upper()},N/D,N/D,N/D,N/D,N/D,N/D,N/D")
    return web.Response(text=f"{HEADER}\r\n{row}\r\n", content_type="text/csv")
