"""Financial Modeling Prep: /stable/quote, a list of one row, or of none for a symbol that it does not know."""

from __future__ import annotations

from aiohttp import web

QUOTES = {
    "AAPL": ("Apple Inc.", 231.55, 1.45, 0.63016, 48120331),
    "BRK-B": ("Berkshire Hathaway Inc.", 498.2, 1.2, 0.24145, 3120455),
    "^GSPC": ("S&P 500", 6480.25, -12.5, -0.19252, 2840000000),
    "GCUSD": ("Gold Futures", 3520.4, 21.3, 0.60873, 182000),
    "EURUSD": ("EUR/USD", 1.1641, 0.0012, 0.10319, 91000),
}


def answer(request: web.Request, path: str) -> web.Response:
    """Five symbols."""
    if not request.headers.get("apikey"):
        return web.json_response({"Error Message": "Invalid API KEY."}, status=401)
    symbol = request.query.get("symbol", "")
    if path != "/stable/quote" or symbol not in QUOTES:
        return web.json_response([])
    name, price, change, percent, volume = QUOTES[symbol]
    row = {
        "symbol": symbol,
        "name": name,
        "price": price,
        "changePercentage": percent,
        "change": change,
        "volume": volume,
        "previousClose": price - change,
        "exchange": "NASDAQ",
        "timestamp": 1788278400,
    }
    return web.json_response([row])
