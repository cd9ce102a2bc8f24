"""Evidence made from what a provider sent: cleaned of markup, cut to limits, identified by its canonical URL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from lanemesh.v1.evidence_pb2 import Document, Evidence
from yarl import URL

from services.text.html import read_html
from services.text.urls import canonical_url

MAX_IDENTITY = 512
MAX_TITLE = 1_000
MAX_TEXT = 10_000
MAX_URL = 2_048
MAX_NAME = 512
MAX_LANGUAGE = 35
MAX_TAGS = 64
MAX_TAG = 64
# What the terms of news providers call fair use.
FAIR_USE = 200

_MARKUP = re.compile(r"<[a-zA-Z/!?]|&[#a-zA-Z]")
# Unicode forbids surrogates in UTF-8 and no reader gains from other controls.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def page(
    url: object,
    title: object,
    text: object,
    *,
    published_at: datetime | None = None,
    author: object = "",
    language: object = "",
    source: str = "web",
    licence: str = "",
    tags: Sequence[str] = (),
    kind: str = "document",
    excerpt: int = MAX_TEXT,
) -> Evidence:
    """One result. Without an http(s) URL it has no identity, and the lane leaves it out.

    `excerpt` is the longest text the provider's terms allow. Rank, score and provider are the lane's to fill in.
    """
    address = plain(url)
    document = Document(
        id=identity(address),
        title=cut(plain(title), MAX_TITLE),
        content=cut(plain(text), excerpt),
        url=address,
        source=source,
        author=cut(plain(author), MAX_NAME),
        language=plain(language)[:MAX_LANGUAGE],
        tags=[tag[:MAX_TAG] for tag in map(plain, tags[:MAX_TAGS]) if tag],
        licence=licence,
    )
    if published_at is not None:
        document.published_at.FromDatetime(published_at)
    return Evidence(document=document, kind=kind)


def identity(url: str) -> str:
    """The canonical URL, or nothing for what is no web page or too long to be one."""
    canonical = canonical_url(url)
    return canonical if len(url) <= MAX_URL and len(canonical) <= MAX_IDENTITY else ""


def host_of(url: object) -> str:
    """The host name in lower case; nothing for what is no URL."""
    try:
        return URL(url).host or "" if isinstance(url, str) else ""
    except ValueError:
        return ""


def plain(text: object) -> str:
    """Text without markup and control characters; nothing for what is no text."""
    if not isinstance(text, str):
        return ""
    if _MARKUP.search(text):
        text = read_html(text).text
    return _CONTROL.sub("", text).strip()


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, ended at a word where one ends in the last fifth."""
    if len(text) <= limit:
        return text
    space = text.rfind(" ", limit - limit // 5, limit)
    return text[: space if space > 0 else limit - 1].rstrip() + "…"
