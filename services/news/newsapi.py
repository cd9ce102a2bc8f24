"""NewsAPI: articles of many publishers from the `everything` endpoint of newsapi.org."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.news.words import keywords
from services.providers import dates, evidence
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.providers.query import primary_language
from services.runtime.errors import LanemeshError, Overloaded, Refused, Unauthenticated, Unavailable

MAX_WORDS = 4
MAX_PAGE = 100
_LANGUAGES = "ar:ar de:de en:en es:es fr:fr he:he it:it nb:no nl:nl nn:no no:no pt:pt ru:ru sv:sv ur:ud zh:zh"
# The languages it takes, each by the tag it has there.
LANGUAGES: dict[str, str] = dict(pair.split(":") for pair in _LANGUAGES.split())
# What its body may report beside the status of HTTP; any other code is a refusal.
CODES: dict[str, type[LanemeshError]] = {
    "apiKeyDisabled": Unauthenticated,
    "apiKeyExhausted": Overloaded,
    "apiKeyInvalid": Unauthenticated,
    "apiKeyMissing": Unauthenticated,
    "rateLimited": Overloaded,
    "unexpectedError": Unavailable,
}
# What it puts in place of an article that its publisher has withdrawn, and behind a text that it has cut.
_WITHDRAWN = "[Removed]"
_CUT = re.compile(r"\s*\[\+\d+ chars\]$")


class NewsApi:
    """Articles in the order of their relevance."""

    profile = Profile(
        name="newsapi",
        bases=(Base("LANEMESH_NEWSAPI_URL", "https://newsapi.org"),),
        key_variable="NEWSAPI_KEY",
        keeps_dates=True,
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Articles that contain the words of the question; none in a language that it does not keep."""
        language = primary_language(question.language)
        if language and language not in LANGUAGES:
            return ()
        reply = await http.json(
            Get(
                "/v2/everything",
                params={
                    "q": " AND ".join(keywords(question.query, MAX_WORDS)),
                    "language": LANGUAGES.get(language),
                    "from": _moment(question.published_after),
                    "to": _moment(question.published_before),
                    "sortBy": "relevancy",
                    "pageSize": min(question.max_results, MAX_PAGE),
                },
                headers={"X-Api-Key": http.key},
            )
        )
        if reply["status"] != "ok":
            raise CODES.get(reply.get("code"), Refused)("it reports an error")
        return [_read(item, language) for item in reply["articles"] if item["title"] != _WITHDRAWN]


def _moment(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%dT%H:%M:%S") if moment else None


def _read(item: Mapping[str, Any], language: str) -> Evidence:
    publisher = evidence.plain((item.get("source") or {}).get("name"))[: evidence.MAX_NAME]
    found = evidence.page(
        item["url"],
        item["title"],
        item.get("description") or _CUT.sub("", item.get("content") or ""),
        published_at=dates.iso(item.get("publishedAt")),
        author=item.get("author"),
        language=language,
        source="news",
        licence=f"© {publisher or 'its publisher'}, via NewsAPI.org",
        excerpt=evidence.FAIR_USE,
    )
    if publisher:
        found.document.attributes["publisher"] = publisher
    return found
