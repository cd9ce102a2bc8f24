"""Alpha Vantage: /query with GLOBAL_QUOTE and CURRENCY_EXCHANGE_RATE; errors come with status 200."""

from __future__ import annotations

from aiohttp import web

QUOTES = {
    "AAPL": ("231.4000", "48120331", "2026-09-01", "230.1000", "1.3000", "0.5650%"),
    "MSFT": ("512.7500", "20114090", "2026-09-01", "515.0000", "-2.2500", "-0.4369%"),
    "BRK-B": ("498.1000", "3120455", "2026-09-01", "497.0000", "1.1000", "0.2213%"),
    "SAP.DEX": ("251.3000", "1204377", "2026-09-01", "249.8000", "1.5000", "0.6005%"),
}
RATES = {("EUR", "USD"): "1.16420000", ("GBP", "JPY"): "198.73000000", ("BTC", "USD"): "98120.51000000"}


def answer(request: web.Request, path: str) -> web.Response:
    """Four shares and three pairs; an empty quote for any other share, an error for any other pair."""
    query = request.query
    if path != "/query" or not query.get("apikey"):
        return web.json_response({"Error Message": "the parameter apikey is invalid or missing"})
    if query.get("function") == "GLOBAL_QUOTE":
        return web.json_response({"Global Quote": _quote(query.get("symbol", ""))})
    pair = (query.get("from_currency", ""), query.get("to_currency", ""))
    if pair not in RATES:
        return web.json_response({"Error Message": "Invalid API call. Please retry."})
    return web.json_response({"Realtime Currency Exchange Rate": _rate(*pair)})


def _quote(symbol: str) -> dict[str, str]:
    if symbol not in QUOTES:
        return {}
    price, volume, day, previous, change, percent = QUOTES[symbol]
    return {
        "01. symbol": symbol,
        "02. open": previous,
        "03. high": price,
        "04. low": previous,
        "05. price": price,
        "06. volume": volume,
        "07. latest trading day": day,
        "08. previous close": previous,
        "09. change": change,
        "10. change percent": percent,
    }


def _rate(base: str, quote: str) -> dict[str, str]:
    return {
        "1. From_Currency Code": base,
        "2. From_Currency Name": base,
        "3. To_Currency Code": quote,
        "4. To_Currency Name": quote,
        "5. Exchange Rate": RATES[base, quote],
        "6. Last Refreshed": "2026-09-01 14:05:31",
        "7. Time Zone": "UTC",
        "8. Bid Price": RATES[base, quote],
        "9. Ask Price": RATES[base, quote],
    }
