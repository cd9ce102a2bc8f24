"""Feeds of the operator's choice, read now and then and searched here, since a feed itself cannot be asked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence

from lanemesh.v1.evidence_pb2 import Evidence

from services.news.feed import Entry, read_feed
from services.news.words import enough, keywords, roots
from services.providers.http import Get, Http
from services.providers.provider import Base, Profile, Question
from services.runtime.deadline import Clock
from services.runtime.errors import LanemeshError
from services.text.urls import registrable_domain

log = logging.getLogger(__name__)

# Several addresses stand in one variable, separated by commas.
FEEDS = Base("LANEMESH_NEWS_FEEDS", "")
MAX_WORDS = 8


class Rss:
    """Entries of all feeds that contain the words of a question, the fullest match first, then the newest."""

    profile = Profile(name="rss", bases=(FEEDS,))

    def __init__(self, fresh_seconds: float = 0.0, clock: Clock = time.monotonic) -> None:
        self._fresh_seconds = fresh_seconds
        self._clock = clock
        self._read_at: dict[str, float] = {}
        self._read: dict[str, list[Entry] | LanemeshError] = {}

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """The entries that match. When no feed could be read that is the answer, not an empty list."""
        feeds = [feed.strip() for feed in http.url(FEEDS).split(",") if feed.strip()]
        read = await asyncio.gather(*(self._feed(feed, http) for feed in feeds))
        failed = [error for error in read if isinstance(error, LanemeshError)]
        if len(failed) == len(feeds):
            # The same error may be raised many times; each would add to its trace.
            raise failed[0].with_traceback(None)
        return matching((entry for entries in read if isinstance(entries, list) for entry in entries), question.query)

    async def _feed(self, feed: str, http: Http) -> list[Entry] | LanemeshError:
        """What the feed holds, or why it could not be read: both are remembered, so that no feed is asked too often."""
        if feed in self._read and self._clock() - self._read_at[feed] < self._fresh_seconds:
            return self._read[feed]
        read: list[Entry] | LanemeshError
        try:
            read = read_feed(await http.xml(Get(feed)))
        except LanemeshError as error:
            # Only the host is logged: the rest of an address may hold a key.
            log.warning("a feed of %s could not be read: %s", registrable_domain(feed), error.message)
            read = error
        self._read[feed], self._read_at[feed] = read, self._clock()
        return read


def matching(entries: Iterable[Entry], query: str) -> list[Evidence]:
    """Copies of the entries that contain enough of the query's words; a word in the title counts twice."""
    wanted = roots(" ".join(keywords(query, MAX_WORDS)))
    ranked = [
        (len(wanted & entry.title) + len(wanted & entry.text), entry.evidence)
        for entry in entries
        if wanted and len(wanted & entry.text) >= enough(len(wanted))
    ]
    ranked.sort(key=lambda pair: (-pair[0], -pair[1].document.published_at.ToSeconds(), pair[1].document.id))
    return [_copy(found) for _, found in ranked]


def _copy(found: Evidence) -> Evidence:
    copy = Evidence()
    copy.CopyFrom(found)
    return copy
