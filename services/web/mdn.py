"""MDN Web Docs: the reference of the web platform, by the search of its site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.providers import evidence
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.providers.query import primary_language, shortened

SITE = "https://developer.mozilla.org"
LICENCE = "CC BY-SA 2.5, Mozilla contributors"
MAX_QUERY = 200
MAX_SIZE = 50
LOCALES = {
    "": "en-US",
    "en": "en-US",
    "de": "de",
    "es": "es",
    "fr": "fr",
    "ja": "ja",
    "ko": "ko",
    "pt": "pt-BR",
    "ru": "ru",
    "zh": "zh-CN",
}


class Mdn:
    """Reference pages by their summary."""

    profile = Profile(
        name="mdn",
        bases=(Base("LANEMESH_MDN_URL", SITE),),
        boost=0.1,
        sites=("developer.mozilla.org",),
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Pages in the order of the site's search, in the language asked for where there is a translation."""
        locale = LOCALES.get(primary_language(question.language))
        if locale is None:
            return []
        reply = await http.json(
            Get(
                "/api/v1/search",
                params={
                    "q": shortened(question.query, MAX_QUERY),
                    "locale": locale,
                    "size": min(question.max_results, MAX_SIZE),
                },
            )
        )
        return [_read(page) for page in reply["documents"]]


def _read(page: Mapping[str, Any]) -> Evidence:
    return evidence.page(
        f"{SITE}{page['mdn_url']}",
        page["title"],
        page.get("summary"),
        language=page.get("locale", ""),
        source="docs",
        licence=LICENCE,
    )
