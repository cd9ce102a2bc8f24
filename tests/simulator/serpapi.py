"""SerpAPI's Google search."""

from __future__ import annotations

from aiohttp import web

from tests.simulator.words import about

RESULTS = [
    {
        "position": 1,
        "title": "Lock (water navigation)",
        "link": "https://navigation.example.com/lock",
        "snippet": "A lock is used for raising and lowering boats.",
        "date": "Mar 3, 2026",
        "source": "Navigation",
    },
    {
        "position": 2,
        "title": "Lock gates through time",
        "link": "https://www.bbc.co.uk/history/lock-gates",
        "snippet": "From flash locks to mitre gates.",
        "date": "2 days ago",
    },
]


def answer(request: web.Request, path: str) -> web.Response:
    """The results that share a word with the query, or the error that stands for none."""
    if not request.query.get("api_key"):
        return web.json_response({"error": "Invalid API key."}, status=401)
    if path != "/search.json" or request.query.get("engine") != "google":
        return web.json_response({"error": "Unsupported engine."}, status=400)
    results = [result for result in RESULTS if about(request.query["q"], result["title"], result["snippet"])]
    if not results:
        return web.json_response({"error": "Google hasn't returned any results for this query."})
    results = results[: int(request.query.get("num", 10))]
    return web.json_response({"search_metadata": {"status": "Success"}, "organic_results": results})
