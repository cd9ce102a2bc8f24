"""The search of MDN's site."""

from __future__ import annotations

from aiohttp import web

from tests.simulator.words import about

DOCUMENTS = [
    {
        "mdn_url": "/en-US/docs/Web/API/Web_Locks_API",
        "title": "Web Locks API",
        "locale": "en-us",
        "slug": "web/api/web_locks_api",
        "summary": "The Web Locks API lets scripts acquire a lock, hold it while work is done, and release it.",
        "popularity": 0.001,
        "score": 61.2,
        "highlight": {"body": ["acquire a <mark>lock</mark>"], "title": ["Web <mark>Locks</mark> API"]},
    },
    {
        "mdn_url": "/en-US/docs/Web/API/ScreenOrientation/lock",
        "title": "ScreenOrientation: lock() method",
        "locale": "en-us",
        "summary": "The lock() method locks the orientation of the containing document.",
    },
]


def answer(request: web.Request, path: str) -> web.Response:
    """The pages that share a word with the query."""
    query = request.query
    if path != "/api/v1/search" or not query.get("q"):
        return web.json_response({"errors": {"q": [{"message": "required", "code": "required"}]}}, status=400)
    documents = [page for page in DOCUMENTS if about(query["q"], page["title"], page["summary"])]
    documents = documents[: int(query.get("size", 10))]
    total = {"value": len(documents), "relation": "eq"}
    return web.json_response({"documents": documents, "metadata": {"total": total, "page": 1}, "suggestions": []})
