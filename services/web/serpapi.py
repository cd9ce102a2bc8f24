"""SerpAPI: Google's organic results as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.providers import evidence
from services.providers.evidence import host_of
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.providers.query import primary_language, region, shortened
from services.runtime.errors import Refused
from services.web.sites import kind_of, restricted

# Google reads no more than 32 words and cuts long queries.
MAX_CHARACTERS = 1_000
MAX_WORDS = 32
MAX_COUNT = 20
NO_RESULTS = "hasn't returned any results"


class SerpApi:
    """Organic results. The API takes its key in the query string only."""

    profile = Profile(
        name="serpapi",
        bases=(Base("LANEMESH_SERPAPI_URL", "https://serpapi.com"),),
        key_variable="SERPAPI_KEY",
        paid=True,
        keeps_dates=True,
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Pages in Google's order."""
        language = primary_language(question.language)
        reply = await http.json(
            Get(
                "/search.json",
                params={
                    "engine": "google",
                    "q": restricted(shortened(question.query, MAX_CHARACTERS, MAX_WORDS), question.sites),
                    "num": min(question.max_results, MAX_COUNT),
                    "hl": language or None,
                    "lr": f"lang_{language}" if language else None,
                    "gl": region(question.language).lower() or None,
                    "tbs": _range(question),
                    "api_key": http.key,
                },
            )
        )
        # A search without results is reported as an error.
        if "error" in reply and NO_RESULTS not in str(reply["error"]):
            raise Refused("it reports an error")
        return [_read(result) for result in reply.get("organic_results", []) if "link" in result]


def _range(question: Question) -> str | None:
    after, before = question.published_after, question.published_before
    if after is None and before is None:
        return None
    bounds = [f"cd_min:{after:%m/%d/%Y}" if after else "", f"cd_max:{before:%m/%d/%Y}" if before else ""]
    return ",".join(["cdr:1", *filter(None, bounds)])


def _read(result: Mapping[str, Any]) -> Evidence:
    return evidence.page(
        result["link"],
        result.get("title"),
        result.get("snippet"),
        published_at=_date(result.get("date")),
        author=result.get("author", ""),
        source=kind_of(host_of(result["link"])),
    )


def _date(text: object) -> datetime | None:
    """A day such as "Mar 3, 2026"; "2 days ago" is too vague to be a date."""
    try:
        return datetime.strptime(str(text), "%b %d, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
