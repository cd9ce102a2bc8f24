"""Brave Search: an independent index of the web, by its web search API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.providers import dates, evidence
from services.providers.evidence import host_of
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.providers.query import primary_language, region, shortened
from services.web.sites import kind_of, restricted

# Limits of the API.
MAX_CHARACTERS = 400
MAX_WORDS = 50
MAX_COUNT = 20
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Brave:
    """Web results; the key travels in a header."""

    profile = Profile(
        name="brave",
        bases=(Base("LANEMESH_BRAVE_URL", "https://api.search.brave.com"),),
        key_variable="BRAVE_SEARCH_API_KEY",
        paid=True,
        keeps_dates=True,
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Pages in the order of the engine."""
        reply = await http.json(
            Get(
                "/res/v1/web/search",
                headers={"X-Subscription-Token": http.key, "Accept": "application/json"},
                params={
                    "q": _query(question),
                    "count": min(question.max_results, MAX_COUNT),
                    "search_lang": primary_language(question.language) or None,
                    "country": region(question.language) or None,
                    "freshness": _freshness(question),
                    "result_filter": "web",
                    "text_decorations": "false",
                    "extra_snippets": "true",
                },
            )
        )
        return [_read(result) for result in (reply.get("web") or {}).get("results", [])]


def _query(question: Question) -> str:
    operators = restricted("", question.sites)
    words = MAX_WORDS - len(operators.split())
    return shortened(question.query, MAX_CHARACTERS - len(operators), words) + operators


def _freshness(question: Question) -> str | None:
    """The bounds as a range of days, both inclusive."""
    if question.published_after is None and question.published_before is None:
        return None
    after = question.published_after or EPOCH
    before = question.published_before or datetime.now(UTC)
    return f"{after:%Y-%m-%d}to{before:%Y-%m-%d}"


def _read(result: Mapping[str, Any]) -> Evidence:
    snippets = [result.get("description"), *result.get("extra_snippets", [])]
    return evidence.page(
        result["url"],
        result["title"],
        "\n".join(text for text in map(evidence.plain, snippets) if text),
        published_at=dates.iso(result.get("page_age")),
        language=result.get("language", ""),
        source=kind_of(host_of(result["url"])),
    )
