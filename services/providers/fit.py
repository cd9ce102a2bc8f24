"""Whether a result keeps the bounds of its question, for what a provider could not put into its request."""

from __future__ import annotations

from datetime import UTC

from lanemesh.v1.evidence_pb2 import Document

from services.providers.evidence import host_of
from services.providers.provider import Profile, Question
from services.providers.query import primary_language
from services.providers.sources import within


def fits(document: Document, question: Question, profile: Profile) -> bool:
    """Whether identity, site, date and language are what was asked for."""
    return bool(document.id) and (
        _on_site(document, question) and _in_time(document, question, profile) and _in_language(document, question)
    )


def _on_site(document: Document, question: Question) -> bool:
    return not question.sites or within(host_of(document.url), question.sites)


def _in_time(document: Document, question: Question, profile: Profile) -> bool:
    after, before = question.published_after, question.published_before
    if not after and not before:
        return True
    if not document.HasField("published_at"):
        return profile.keeps_dates
    moment = document.published_at.ToDatetime(UTC)
    return (after is None or moment >= after) and (before is None or moment < before)


def _in_language(document: Document, question: Question) -> bool:
    if not question.language or not document.language:
        return True
    return primary_language(document.language) == primary_language(question.language)
