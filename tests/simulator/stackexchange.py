"""The Stack Exchange API 2.3: advanced search. Like the real one it always packs its replies."""

from __future__ import annotations

import gzip
import json
from typing import Any

from aiohttp import web

from tests.simulator.words import about

ITEMS = [
    {
        "question_id": 77001,
        "title": "How do I acquire a file lock &amp; release it?",
        "link": "https://stackoverflow.com/questions/77001/how-do-i-acquire-a-file-lock",
        "body": "<p>I take a <code>flock</code>.</p><pre><code>flock(fd)\nwork()</code></pre>",
        "creation_date": 1767225600,
        "owner": {"display_name": "lockkeeper"},
        "content_license": "CC BY-SA 4.0",
        "tags": ["linux", "flock"],
        "is_answered": True,
        "score": 12,
    },
    {
        "question_id": 77002,
        "title": "Deadlock with two locks",
        "link": "https://stackoverflow.com/questions/77002/deadlock-with-two-locks",
        "body": "<p>Both threads wait.</p>",
        "creation_date": 1577836800,
        "owner": {"user_type": "does_not_exist"},
        "tags": ["concurrency"],
    },
]


def answer(request: web.Request, path: str) -> web.Response:
    """The questions that share a word with the query."""
    query = request.query
    if path != "/2.3/search/advanced" or not query.get("site"):
        return packed({"error_id": 400, "error_name": "bad_parameter", "error_message": "site is required"}, 400)
    items = [item for item in ITEMS if about(query.get("q", ""), item["title"])]
    items = items[: int(query.get("pagesize", 30))]
    return packed({"items": items, "has_more": False, "quota_max": 300, "quota_remaining": 299})


def packed(body: dict[str, Any], status: int = 200) -> web.Response:
    """A reply as gzip."""
    headers = {"Content-Type": "application/json; charset=utf-8", "Content-Encoding": "gzip"}
    return web.Response(body=gzip.compress(json.dumps(body).encode()), status=status, headers=headers)
