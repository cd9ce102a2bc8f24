"""Brave's web search."""

from __future__ import annotations

from aiohttp import web

from tests.simulator.words import about

RESULTS = [
    {
        "title": "How canal locks work",
        "url": "https://www.waterways.example.org/locks?utm_source=feed",
        "description": "Gates and <strong>sluices</strong> raise &amp; lower boats.",
        "extra_snippets": ["A lock needs two gates.", "The first locks were flash locks."],
        "page_age": "2026-05-04T10:00:00",
        "language": "en",
        "profile": {"name": "Waterways"},
    },
    {
        "title": "Lock flow measured",
        "url": "https://arxiv.org/abs/2601.00001",
        "description": "We measure the flow through a lock.",
        "language": "en",
    },
    {
        "title": "Canal lock",
        "url": "https://en.wikipedia.org/wiki/Canal_lock",
        "description": "Wikipedia on canal locks.",
        "language": "en",
    },
]


def answer(request: web.Request, path: str) -> web.Response:
    """The results that share a word with the query."""
    if not request.headers.get("X-Subscription-Token"):
        return web.json_response({"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}, status=401)
    query = request.query.get("q", "")
    if path != "/res/v1/web/search" or not query or int(request.query.get("count", 20)) > 20:
        return web.json_response({"type": "ErrorResponse", "error": {"code": "VALIDATION"}}, status=422)
    results = [result for result in RESULTS if about(query, result["title"], result["description"])]
    found: dict[str, object] = {"type": "search", "query": {"original": query}}
    if results:
        found["web"] = {"type": "search", "results": results[: int(request.query.get("count", 20))]}
    return web.json_response(found)
