"""Algolia's search of Hacker News: /api/v1/search."""

from __future__ import annotations

from aiohttp import web

from tests.simulator.press import STORIES, Story, stories_about
from tests.simulator.words import about

QUESTION = "Ask HN: How do you automate a canal lock?"


def answer(request: web.Request, path: str) -> web.Response:
    """Links to articles, and one question of its own."""
    query = request.query
    if path != "/api/v1/search" or query.get("tags") != "story":
        return web.json_response({"status": 400, "message": "simulated"}, status=400)
    hits = [_link(story) for story in stories_about(query["query"]) if story is not STORIES[0]]
    hits += [_question(STORIES[0])] if about(query["query"], QUESTION) else []
    hits = hits[: int(query["hitsPerPage"])]
    return web.json_response({"hits": hits, "nbHits": len(hits), "page": 0, "nbPages": 1, "query": query["query"]})


def _link(story: Story) -> dict[str, object]:
    return {
        "objectID": str(41000000 + story.hours_ago),
        "title": story.title,
        "url": f"http://www.{story.url.removeprefix('https://')}/",
        "author": "lockkeeper",
        "points": 87,
        "num_comments": 21,
        "created_at": story.published.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "created_at_i": int(story.published.timestamp()),
        "_tags": ["story", "author_lockkeeper"],
    }


def _question(story: Story) -> dict[str, object]:
    return {
        "objectID": "41000001",
        "title": QUESTION,
        "story_text": "I keep a <i>canal lock</i> and would like the gates to open by themselves.",
        "author": "gatekeeper",
        "points": 12,
        "num_comments": 4,
        "created_at_i": int(story.published.timestamp()),
        "_tags": ["story", "ask_hn"],
    }
