"""RSS 2.0, RSS 1.0 and Atom as entries that can be searched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from xml.etree.ElementTree import Element

from lanemesh.v1.evidence_pb2 import Evidence

from services.news.words import roots
from services.providers import dates, evidence
from services.runtime.errors import BadReply

# The newest of a feed stand first; what is beyond is left unread.
MAX_ENTRIES = 200
_FEEDS = ("rss", "RDF", "feed")
_ENTRIES = ("item", "entry")
# Elements of other vocabularies have names of the same sound, media:title among them, and are passed over.
_PREFIXES = {
    "http://purl.org/rss/1.0/": "",
    "http://www.w3.org/2005/Atom": "",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "",
    "http://purl.org/dc/elements/1.1/": "dc:",
    "http://purl.org/rss/1.0/modules/content/": "content:",
}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
# RSS names people as "address (name)".
_NAMED = re.compile(r"\S+@\S+\s*\((.+)\)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry and the roots of its words, of its title and of all its text."""

    evidence: Evidence
    title: frozenset[str]
    text: frozenset[str]


def read_feed(root: Element) -> list[Entry]:
    """The entries of a feed in its order; BadReply when it is none."""
    if _name(root) not in _FEEDS:
        raise BadReply("the reply is no feed")
    channel = next(_children(root, "channel"), root)
    language = (_text(channel, "language", "dc:language") or root.get(_LANGUAGE, "")).replace("_", "-")
    licence = _text(channel, "copyright", "rights", "dc:rights") or f"From the feed {_text(channel, 'title')}"
    entries = [element for element in root.iter() if _name(element) in _ENTRIES][:MAX_ENTRIES]
    return [_entry(element, language, evidence.cut(evidence.plain(licence), evidence.MAX_NAME)) for element in entries]


def _entry(element: Element, language: str, licence: str) -> Entry:
    title = evidence.plain(_text(element, "title"))
    text = evidence.plain(_text(element, "description", "summary", "content:encoded", "content"))
    found = evidence.page(
        _link(element),
        title,
        text,
        published_at=_date(_text(element, "pubDate", "dc:date", "published", "updated")),
        author=_author(element),
        language=language,
        source="news",
        licence=licence,
        excerpt=evidence.FAIR_USE,
    )
    return Entry(found, roots(title), roots(f"{title} {text[: evidence.MAX_TEXT]}"))


def _link(element: Element) -> str:
    for link in _children(element, "link"):
        address = link.get("href") or (link.text or "").strip()
        if address and link.get("rel", "alternate") == "alternate":
            return address
    identity = next(_children(element, "guid"), None)
    return (identity.text or "") if identity is not None and identity.get("isPermaLink") != "false" else ""


def _author(element: Element) -> str:
    person = next(_children(element, "author"), None)
    name = _text(element, "dc:creator") or (_text(person, "name") if person is not None else "")
    given = name or _text(element, "author")
    named = _NAMED.fullmatch(given)
    return named[1] if named else given


def _date(text: str) -> datetime | None:
    return dates.mail(text) or dates.iso(text)


def _text(element: Element, *names: str) -> str:
    """The text of the first child that has any, by the first of the names."""
    found = ("".join(child.itertext()).strip() for name in names for child in _children(element, name))
    return next(filter(None, found), "")


def _children(element: Element, name: str) -> Iterator[Element]:
    return (child for child in element if _name(child) == name)


def _name(element: Element) -> str:
    if not element.tag.startswith("{"):
        return element.tag
    namespace, _, local = element.tag[1:].partition("}")
    return f"{_PREFIXES[namespace]}{local}" if namespace in _PREFIXES else element.tag
