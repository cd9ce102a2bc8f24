"""What the simulated papers report, dated back from now, so that it is always recent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.simulator.words import about


@dataclass(frozen=True)
class Story:
    """One article."""

    title: str
    url: str
    text: str
    author: str
    hours_ago: int

    @property
    def published(self) -> datetime:
        """When it appeared, to the second."""
        return datetime.now(UTC).replace(microsecond=0) - timedelta(hours=self.hours_ago)


STORIES = (
    Story(
        "Canal lock at Merrow reopens after winter repairs",
        "https://papers.example/merrow-lock-reopens",
        "Boats passed the canal lock at Merrow again on Monday, three weeks earlier than planned.",
        "Ada Quill",
        5,
    ),
    Story(
        "Volunteers restore the oldest canal lock of the county",
        "https://papers.example/oldest-lock",
        "A hundred volunteers have rebuilt the gates of a canal lock that was closed in 1931.",
        "Ben Ink",
        30,
    ),
    Story(
        "Freight returns to the canal as lock fees fall",
        "https://papers.example/lock-fees",
        "Lower lock fees bring freight back to the canal, the operator says.",
        "Cleo Press",
        120,
    ),
)


def stories_about(query: str) -> list[Story]:
    """The stories that share a word with the query."""
    return [story for story in STORIES if about(query, story.title)]
