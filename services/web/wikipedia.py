"""Wikipedia: full-text search and the introductions of the pages found, in one call of the MediaWiki action API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.providers import dates, evidence
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.providers.query import primary_language, shortened
from services.runtime.errors import Overloaded, Refused, Unavailable

LICENCE = "CC BY-SA 4.0, Wikipedia contributors"
# Limits of the API: characters of a search, extracts of one reply.
MAX_QUERY = 300
MAX_EXTRACTS = 20
_TRANSIENT = {"ratelimited": Overloaded, "maxlag": Unavailable}


class Wikipedia:
    """The encyclopedia of the question's language, English by default."""

    profile = Profile(
        name="wikipedia",
        bases=(Base("LANEMESH_WIKIPEDIA_URL", "https://{language}.wikipedia.org"),),
        boost=0.15,
        sites=("wikipedia.org",),
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Pages in the order of the search."""
        language = primary_language(question.language) or "en"
        reply = await http.json(
            Get(
                "/w/api.php",
                fill={"language": language},
                params={
                    "action": "query",
                    "format": "json",
                    "formatversion": 2,
                    "generator": "search",
                    # A colon would make the word before it an operator of the search.
                    "gsrsearch": shortened(question.query.replace(":", " "), MAX_QUERY),
                    "gsrlimit": min(question.max_results, MAX_EXTRACTS),
                    "gsrnamespace": 0,
                    "prop": "extracts|info|revisions",
                    "exintro": 1,
                    "explaintext": 1,
                    "exlimit": MAX_EXTRACTS,
                    "inprop": "url",
                    "rvprop": "timestamp",
                    "redirects": 1,
                },
            )
        )
        _check(reply)
        pages = sorted(reply.get("query", {}).get("pages", []), key=lambda page: page["index"])
        return [_read(page, language) for page in pages if page.get("extract")]


def _read(page: Mapping[str, Any], language: str) -> Evidence:
    revisions = page.get("revisions") or [{}]
    return evidence.page(
        page["fullurl"],
        page["title"],
        page["extract"],
        published_at=dates.iso(revisions[0].get("timestamp")),
        language=page.get("pagelanguage", language),
        licence=LICENCE,
    )


def _check(reply: Mapping[str, Any]) -> None:
    if "error" in reply:
        code = reply["error"].get("code")
        raise _TRANSIENT.get(code, Refused)("it reports an error")
