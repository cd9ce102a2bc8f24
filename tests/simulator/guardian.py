"""The Guardian's content API: /search."""

from __future__ import annotations

from aiohttp import web

from tests.simulator.press import Story, stories_about


def answer(request: web.Request, path: str) -> web.Response:
    """Articles of the Guardian, with what show-fields asks for; a key is needed."""
    query = request.query
    if path != "/search":
        return web.json_response({"response": {"status": "error", "message": "simulated"}}, status=404)
    if not query.get("api-key"):
        return web.json_response({"message": "Unauthorized"}, status=401)
    found = stories_about(query.get("q", ""))[: int(query["page-size"])]
    head = {"status": "ok", "userTier": "developer", "total": len(found), "startIndex": 1, "pageSize": len(found)}
    return web.json_response(
        {"response": head | {"orderBy": "relevance", "results": [_item(story) for story in found]}}
    )


def _item(story: Story) -> dict[str, object]:
    name = story.url.rpartition("/")[2]
    return {
        "id": f"environment/{name}",
        "type": "article",
        "sectionId": "environment",
        "sectionName": "Environment",
        "webPublicationDate": story.published.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "webTitle": story.title,
        "webUrl": f"https://www.theguardian.com/environment/{name}",
        "apiUrl": f"https://content.guardianapis.com/environment/{name}",
        "fields": {"trailText": f"<p>{story.text}</p>", "byline": story.author, "lang": "en"},
        "isHosted": False,
        "pillarName": "News",
    }
