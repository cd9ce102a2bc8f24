"""Hacker News: stories and the pages they link to, from the search that Algolia keeps for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.news.words import keywords
from services.providers import dates, evidence
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.providers.query import primary_language

LANGUAGE = "en"
LICENCE = "Found by Hacker News, search by Algolia"
DISCUSSION = "https://news.ycombinator.com/item?id="
MAX_WORDS = 4
MAX_PAGE = 100


class HackerNews:
    """Stories in the order of the search; it knows English only, and the day of a story is that of its submission."""

    profile = Profile(
        name="hackernews",
        bases=(Base("LANEMESH_HACKERNEWS_URL", "https://hn.algolia.com"),),
        keeps_dates=True,
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Stories that contain the words of the question."""
        if primary_language(question.language) not in ("", LANGUAGE):
            return ()
        reply = await http.json(
            Get(
                "/api/v1/search",
                params={
                    "query": " ".join(keywords(question.query, MAX_WORDS)),
                    "tags": "story",
                    "hitsPerPage": min(question.max_results, MAX_PAGE),
                    "numericFilters": _bounds(question),
                },
            )
        )
        return [_read(hit) for hit in reply["hits"] if hit.get("title")]


def _bounds(question: Question) -> str | None:
    after, before = question.published_after, question.published_before
    bounds = [f"created_at_i>={int(after.timestamp())}"] if after else []
    bounds += [f"created_at_i<{int(before.timestamp())}"] if before else []
    return ",".join(bounds) or None


def _read(hit: Mapping[str, Any]) -> Evidence:
    discussion = f"{DISCUSSION}{int(hit['objectID'])}"
    submitter = evidence.plain(hit.get("author"))
    found = evidence.page(
        hit.get("url") or discussion,
        hit["title"],
        hit.get("story_text"),
        published_at=dates.epoch(hit.get("created_at_i")),
        # Whoever submits a link has not written the page behind it.
        author="" if hit.get("url") else submitter,
        language=LANGUAGE,
        source="news",
        licence=LICENCE,
    )
    found.document.attributes.update({"discussion": discussion, "submitted_by": submitter[: evidence.MAX_NAME]})
    return found
