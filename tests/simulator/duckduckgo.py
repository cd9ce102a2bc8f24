"""DuckDuckGo's instant answers, with the content type that the real one sends."""

from __future__ import annotations

import json

from aiohttp import web

from tests.simulator.words import about

EMPTY = {"Abstract": "", "AbstractText": "", "AbstractURL": "", "Heading": "", "Results": [], "RelatedTopics": []}
LOCK = {
    "Heading": "Lock (water navigation)",
    "AbstractText": "A lock is a device for raising and lowering boats.",
    "AbstractSource": "Wikipedia",
    "AbstractURL": "https://en.wikipedia.org/wiki/Lock_(water_navigation)",
    "Results": [{"FirstURL": "https://locks.example.org/", "Text": "Official site - Society of lock keepers"}],
    "RelatedTopics": [
        {"FirstURL": "https://duckduckgo.com/Flash_lock", "Text": "Flash lock - an early lock."},
        {
            "Name": "See also",
            "Topics": [{"FirstURL": "https://gates.example.org/mitre", "Text": "Mitre gate - a gate of two leaves."}],
        },
    ],
}


def answer(request: web.Request, path: str) -> web.Response:
    """One topic, for questions about it."""
    asked = request.query.get("q", "")
    known = path == "/" and request.query.get("format") == "json" and about(asked, LOCK["Heading"])
    return web.Response(text=json.dumps(LOCK if known else EMPTY), content_type="application/x-javascript")
