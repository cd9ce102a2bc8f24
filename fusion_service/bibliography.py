"""The cited documents, numbered in order of first citation."""

from __future__ import annotations

from lanemesh.v1.fusion_pb2 import BibliographyEntry

from fusion_service.passages import Source
from services.text.urls import registrable_domain

EXCERPT = 200
# Control characters and those that turn the direction of text: nothing a reader should receive in running text.
_CONTROLS = dict.fromkeys([*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)])


class Bibliography:
    """Gives each source its number when it is first cited."""

    def __init__(self) -> None:
        self._markers: dict[Source, int] = {}

    def marker(self, source: Source) -> int:
        """The source's number, from 1."""
        return self._markers.setdefault(source, len(self._markers) + 1)

    def entries(self) -> list[BibliographyEntry]:
        """One entry per cited source, in order of their numbers."""
        return [_entry(marker, source) for source, marker in self._markers.items()]


def readable(text: str) -> str:
    """Running text: single spaces, no control characters."""
    text = " ".join(text.split())
    return text if text.isprintable() else text.translate(_CONTROLS)


def excerpt(text: str) -> str:
    """The beginning of a text, at most 200 characters, cut between words."""
    text = readable(text[: 4 * EXCERPT])
    if len(text) <= EXCERPT:
        return text
    cut = text[:EXCERPT]
    return (cut[: cut.rfind(" ")] if " " in cut else cut[:-1]).rstrip(" ,;:") + "…"


def _entry(marker: int, source: Source) -> BibliographyEntry:
    document = source.document
    entry = BibliographyEntry(
        marker=marker,
        id=document.id,
        title=readable(document.title) or document.id,
        url=document.url,
        domain=registrable_domain(document.url),
        author=document.author,
        excerpt=excerpt(source.content or document.summary),
        lanes=source.lanes,
        licence=document.licence,
        label=source.label,
    )
    if document.HasField("published_at"):
        entry.published_at.CopyFrom(document.published_at)
    return entry
