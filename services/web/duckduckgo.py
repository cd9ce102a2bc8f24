"""DuckDuckGo Instant Answers: an abstract of the topic, official sites, and where to read on. No search results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.providers import evidence
from services.providers.evidence import host_of
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.providers.query import shortened
from services.providers.sources import within

MAX_QUERY = 500
HOME = ("duckduckgo.com",)


class DuckDuckGo:
    """Instant answers, which exist in English."""

    profile = Profile(
        name="duckduckgo",
        bases=(Base("LANEMESH_DUCKDUCKGO_URL", "https://api.duckduckgo.com"),),
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """The abstract first, then official sites, then related topics that lead elsewhere."""
        reply = await http.json(
            Get(
                "/",
                params={
                    "q": shortened(question.query, MAX_QUERY),
                    "format": "json",
                    "no_html": 1,
                    "no_redirect": 1,
                    "t": "lanemesh",
                },
                # The API says so, for JSON.
                types=("application/x-javascript",),
            )
        )
        found = [*_abstract(reply), *_topics(reply.get("Results", [])), *_topics(reply.get("RelatedTopics", []))]
        return [each for each in found if each.document.content]


def _abstract(reply: Mapping[str, Any]) -> Iterator[Evidence]:
    if reply.get("AbstractURL") and reply.get("AbstractText"):
        yield evidence.page(
            reply["AbstractURL"],
            reply.get("Heading"),
            reply["AbstractText"],
            language="en",
            licence=f"{evidence.plain(reply.get('AbstractSource'))} through DuckDuckGo",
        )


def _topics(topics: Sequence[Mapping[str, Any]]) -> Iterator[Evidence]:
    """Topics and those grouped under a name; its own topic pages hold nothing that could be cited."""
    for topic in topics:
        if "Topics" in topic:
            yield from _topics(topic["Topics"])
        elif not within(host_of(topic.get("FirstURL", "")), HOME):
            text = evidence.plain(topic.get("Text"))
            title = text.partition(" - ")[0]
            yield evidence.page(topic.get("FirstURL"), title, text, language="en", licence="through DuckDuckGo")
