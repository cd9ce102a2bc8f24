"""Finnhub: /api/v1/quote. A symbol that it does not know has every figure zero."""

from __future__ import annotations

from aiohttp import web

QUOTES = {
    "AAPL": {"c": 231.62, "d": 1.52, "dp": 0.6606, "h": 232.1, "l": 229.8, "o": 230.3, "pc": 230.1, "t": 1788278400},
    "BRK.B": {"c": 498.4, "d": 1.4, "dp": 0.2817, "h": 499.0, "l": 496.2, "o": 497.1, "pc": 497.0, "t": 1788278400},
}
UNKNOWN = {"c": 0, "d": None, "dp": None, "h": 0, "l": 0, "o": 0, "pc": 0, "t": 0}


def answer(request: web.Request, path: str) -> web.Response:
    """Two shares."""
    if not request.headers.get("X-Finnhub-Token"):
        return web.json_response({"error": "Please use an API key."}, status=401)
    if path != "/api/v1/quote":
        return web.json_response({"error": "not found"}, status=404)
    return web.json_response(QUOTES.get(request.query.get("symbol", ""), UNKNOWN))
