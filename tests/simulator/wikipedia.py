"""The MediaWiki action API: action=query with generator=search and introductions."""

from __future__ import annotations

from aiohttp import web

from tests.simulator.words import about

PAGES = [
    {
        "pageid": 9001,
        "ns": 0,
        "title": "Tidal lock gate",
        "index": 2,
        "extract": "A tidal lock gate is a gate that keeps water in a basin when the tide falls.",
        "fullurl": "https://en.wikipedia.org/wiki/Tidal_lock_gate",
        "pagelanguage": "en",
        "revisions": [{"timestamp": "2026-03-14T09:26:53Z"}],
    },
    {
        "pageid": 9002,
        "ns": 0,
        "title": "Canal lock",
        "index": 1,
        "extract": "A canal lock raises and lowers boats between stretches of water of different levels.",
        "fullurl": "https://en.wikipedia.org/wiki/Canal_lock",
        "pagelanguage": "en",
        "revisions": [{"timestamp": "2026-09-01T00:00:00Z"}],
    },
    {
        "pageid": 9003,
        "ns": 0,
        "title": "Lock keeper",
        "index": 3,
        "fullurl": "https://en.wikipedia.org/wiki/Lock_keeper",
        "pagelanguage": "en",
    },
]


def answer(request: web.Request, path: str) -> web.Response:
    """The pages that share a word with the query, one of them without an introduction."""
    query = request.query
    if path != "/w/api.php" or query.get("action") != "query" or not query.get("gsrsearch"):
        return web.json_response({"error": {"code": "missingparam", "info": "simulated"}})
    pages = [page for page in PAGES if about(query["gsrsearch"], page["title"])]
    if not pages:
        return web.json_response({"batchcomplete": True})
    pages = [page for page in pages if int(str(page["index"])) <= int(query["gsrlimit"])]
    return web.json_response({"batchcomplete": True, "query": {"pages": pages}})
