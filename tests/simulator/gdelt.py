"""GDELT's DOC 2 API: /api/v2/doc/doc with mode=artlist."""

from __future__ import annotations

from aiohttp import web

from tests.simulator.press import Story, stories_about

# The same story is printed by several papers.
PAPERS = ("papers.example", "daily.example", "evening.example")


def answer(request: web.Request, path: str) -> web.Response:
    """Headlines without text; what it does not like it says in plain words, with success."""
    query = request.query
    if path != "/api/v2/doc/doc" or query.get("mode") != "artlist" or query.get("format") != "json":
        return web.Response(text="Invalid mode.", content_type="text/html")
    if any(len(word) < 3 for word in query.get("query", "").split()) or not query.get("query"):
        return web.Response(text="Your query was too short or too long.", content_type="text/html")
    articles = [_article(story, paper) for story in stories_about(query["query"]) for paper in PAPERS]
    return web.json_response({"articles": articles[: int(query["maxrecords"])]} if articles else {})


def _article(story: Story, paper: str) -> dict[str, str]:
    return {
        "url": story.url.replace("papers.example", paper),
        "url_mobile": "",
        "title": story.title.replace(" at ", " at  "),
        "seendate": story.published.strftime("%Y%m%dT%H%M%SZ"),
        "socialimage": "",
        "domain": paper,
        "language": "English",
        "sourcecountry": "United Kingdom",
    }
