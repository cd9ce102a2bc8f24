"""Stack Exchange: questions of Stack Overflow with their text, by the advanced search of its API 2.3."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.providers import dates, evidence
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.providers.query import primary_language, shortened
from services.runtime.errors import Overloaded, Refused, Unauthenticated, Unavailable

MAX_QUERY = 500
MAX_PAGE = 100
_ERRORS = {"temporarily_unavailable": Unavailable, "key_required": Unauthenticated, "access_denied": Unauthenticated}
_SECONDS = re.compile(r"in (\d{1,6}) seconds")


class StackExchange:
    """Questions and their text, in English."""

    profile = Profile(
        name="stackexchange",
        bases=(Base("LANEMESH_STACKEXCHANGE_URL", "https://api.stackexchange.com"),),
        sites=("stackoverflow.com",),
        keeps_dates=True,
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Questions by relevance."""
        if primary_language(question.language) not in ("", "en"):
            return []
        reply = await http.json(
            Get(
                "/2.3/search/advanced",
                params={
                    "q": shortened(question.query, MAX_QUERY),
                    "site": "stackoverflow",
                    "sort": "relevance",
                    "order": "desc",
                    "pagesize": min(question.max_results, MAX_PAGE),
                    "fromdate": _epoch(question.published_after),
                    "todate": _epoch(question.published_before),
                    "filter": "withbody",
                },
                # Throttling comes with this status, and only the body tells it from a wrong request.
                statuses=(400,),
            )
        )
        _check(reply)
        http.rest = float(reply.get("backoff", 0))
        return [_read(item) for item in reply["items"]]


def _read(item: Mapping[str, Any]) -> Evidence:
    return evidence.page(
        item["link"],
        item["title"],
        item.get("body"),
        published_at=dates.epoch(item.get("creation_date")),
        author=item.get("owner", {}).get("display_name", ""),
        language="en",
        licence=f"{item.get('content_license', 'CC BY-SA')}, Stack Overflow",
        tags=item.get("tags", ()),
    )


def _epoch(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


def _check(reply: Mapping[str, Any]) -> None:
    name = reply.get("error_name")
    if name == "throttle_violation":
        seconds = _SECONDS.search(str(reply.get("error_message")))
        raise Overloaded("its rate limit is reached", retry_after=float(seconds[1]) if seconds else None)
    if name is not None:
        raise _ERRORS.get(name, Refused)("it reports an error")
