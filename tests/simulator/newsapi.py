"""NewsAPI: /v2/everything."""

from __future__ import annotations

from aiohttp import web

from tests.simulator.press import Story, stories_about

WITHDRAWN = {
    "source": {"id": None, "name": "[Removed]"},
    "author": None,
    "title": "[Removed]",
    "description": "[Removed]",
    "url": "https://removed.com",
    "urlToImage": None,
    "publishedAt": "1970-01-01T00:00:00Z",
    "content": "[Removed]",
}


def answer(request: web.Request, path: str) -> web.Response:
    """Articles of one paper and one that was withdrawn; the key is taken from the header."""
    if path != "/v2/everything":
        return _error(404, "endpointDoesntExist")
    if not request.headers.get("X-Api-Key"):
        return _error(401, "apiKeyMissing")
    if not request.query.get("q"):
        return _error(400, "parametersMissing")
    found = [_article(story) for story in stories_about(request.query["q"])]
    articles = [WITHDRAWN, *found] if found else []
    return web.json_response({"status": "ok", "totalResults": len(articles), "articles": articles})


def _error(status: int, code: str) -> web.Response:
    return web.json_response({"status": "error", "code": code, "message": "simulated"}, status=status)


def _article(story: Story) -> dict[str, object]:
    return {
        "source": {"id": None, "name": "The Example Papers"},
        "author": story.author,
        "title": f"{story.title} - The Example Papers",
        "description": story.text,
        "url": f"{story.url}?utm_source=newsapi",
        "urlToImage": None,
        "publishedAt": story.published.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "content": f"{story.text} [+2100 chars]",
    }
