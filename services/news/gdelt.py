"""GDELT: the article list of its DOC 2 API, which knows the headlines of the last three months in many languages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from lanemesh.v1.evidence_pb2 import Evidence

from services.news.stories import fold
from services.news.words import keywords
from services.providers import dates, evidence
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.providers.query import primary_language

LICENCE = "Found by the GDELT Project, https://www.gdeltproject.org"
MAX_WORDS = 4
MAX_RECORDS = 250
# Shorter words are refused.
MIN_WORD = 3
# One story is often printed by many papers; so many more are asked for, to have enough when they are one again.
SPARE = 3
_LANGUAGES = """
    af:Afrikaans sq:Albanian ar:Arabic hy:Armenian az:Azerbaijani bn:Bengali bs:Bosnian bg:Bulgarian ca:Catalan
    zh:Chinese hr:Croatian cs:Czech da:Danish nl:Dutch en:English et:Estonian fi:Finnish fr:French gl:Galician
    ka:Georgian de:German el:Greek gu:Gujarati he:Hebrew hi:Hindi hu:Hungarian is:Icelandic id:Indonesian it:Italian
    ja:Japanese kn:Kannada kk:Kazakh ko:Korean lv:Latvian lt:Lithuanian mk:Macedonian ms:Malay ml:Malayalam mr:Marathi
    mn:Mongolian ne:Nepali no:Norwegian fa:Persian pl:Polish pt:Portuguese pa:Punjabi ro:Romanian ru:Russian sr:Serbian
    si:Sinhalese sk:Slovak sl:Slovenian so:Somali es:Spanish sw:Swahili sv:Swedish ta:Tamil te:Telugu th:Thai bo:Tibetan
    tr:Turkish uk:Ukrainian ur:Urdu vi:Vietnamese
"""
# GDELT calls languages by their English names.
LANGUAGES: dict[str, str] = dict(pair.split(":") for pair in _LANGUAGES.split())
_TAGS = {name: tag for tag, name in LANGUAGES.items()}
_LOOSE = re.compile(r"\s+([,.:;!?%)’])")


class Gdelt:
    """Headlines without text, in GDELT's mix of relevance and popularity."""

    profile = Profile(
        name="gdelt",
        bases=(Base("LANEMESH_GDELT_URL", "https://api.gdeltproject.org"),),
        keeps_dates=True,
    )

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Articles that contain the words of the question; its complaints come as plain text, which is no JSON."""
        language = primary_language(question.language)
        words = _words(question.query)
        if not words or (language and language not in LANGUAGES):
            return ()
        terms = [*words, f"sourcelang:{LANGUAGES[language].lower()}"] if language else words
        reply = await http.json(
            Get(
                "/api/v2/doc/doc",
                params={
                    "query": " ".join(terms),
                    "mode": "artlist",
                    "format": "json",
                    "sort": "hybridrel",
                    "maxrecords": min(question.max_results * SPARE, MAX_RECORDS),
                    "startdatetime": _moment(question.published_after),
                    "enddatetime": _moment(question.published_before),
                },
            )
        )
        return fold(_read(item) for item in reply.get("articles", []))


def _words(query: str) -> list[str]:
    # A dash or a point inside a word would be read as an operator, so such words are taken apart.
    parts = " ".join(re.findall(r"[^\W_]+", query)).split()
    return keywords(" ".join(part for part in parts if len(part) >= MIN_WORD or not part.isascii()), MAX_WORDS)


def _moment(moment: datetime | None) -> str | None:
    return moment.strftime("%Y%m%d%H%M%S") if moment else None


def _read(item: Mapping[str, Any]) -> Evidence:
    return evidence.page(
        item["url"],
        _LOOSE.sub(r"\1", " ".join(evidence.plain(item["title"]).split())),
        "",
        published_at=dates.iso(item.get("seendate")),
        language=_TAGS.get(item.get("language", ""), ""),
        source="news",
        licence=LICENCE,
    )
