"""The Guardian Open Platform: full-text search of its content API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.news.words import keywords
from services.providers import dates, evidence
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.providers.query import primary_language
from services.runtime.errors import Refused

LICENCE = "© Guardian News & Media Ltd, via the Guardian Open Platform"
MAX_WORDS = 4
MAX_PAGE = 50


class Guardian:
    """What the Guardian and the Observer published, in the order of its relevance."""

    profile = Profile(
        name="guardian",
        bases=(Base("LANEMESH_GUARDIAN_URL", "https://content.guardianapis.com"),),
        key_variable="GUARDIAN_OPEN_PLATFORM_KEY",
        sites=("theguardian.com",),
        keeps_dates=True,
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Articles that contain the words of the question. Days are the API's unit; the lane keeps to the hour."""
        reply = await http.json(
            Get(
                "/search",
                params={
                    # Without an operator any of the words would do.
                    "q": " AND ".join(keywords(question.query, MAX_WORDS)),
                    "order-by": "relevance",
                    "use-date": "published",
                    "from-date": _day(question.published_after),
                    "to-date": _day(question.published_before),
                    "lang": primary_language(question.language) or None,
                    "page-size": min(question.max_results, MAX_PAGE),
                    "show-fields": "trailText,byline,lang",
                    "api-key": http.key,
                },
            )
        )
        if reply["response"]["status"] != "ok":
            raise Refused("it reports an error")
        return [_read(item) for item in reply["response"]["results"]]


def _day(moment: datetime | None) -> str | None:
    return moment.date().isoformat() if moment else None


def _read(item: Mapping[str, Any]) -> Evidence:
    fields = item.get("fields", {})
    return evidence.page(
        item["webUrl"],
        item["webTitle"],
        fields.get("trailText"),
        published_at=dates.iso(item.get("webPublicationDate")),
        author=fields.get("byline"),
        language=fields.get("lang", "en"),
        source="news",
        licence=LICENCE,
        excerpt=evidence.FAIR_USE,
    )
