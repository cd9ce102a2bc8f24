"""One story told by several papers as one result, and the order of the results. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, timedelta

from lanemesh.v1.evidence_pb2 import Evidence

from services.news.words import roots
from services.text.urls import registrable_domain

# Shorter titles, such as "Morning briefing", are shared by unrelated stories.
MIN_TITLE_WORDS = 4
# What being the newest adds to a result: as much as a few ranks, so that it decides between near-equals.
RECENCY_WEIGHT = 0.1
HALF_LIFE = timedelta(days=2)
_UNKNOWN_RECENCY = 0.5
_OF_ANY_PAPER = {"the", "new", "com"}
# A headline with its paper behind it: "Canal reopens - The Daily Lock", "Canal reopens | Lock News".
_PAPER = re.compile(r"\s+[-–—|]\s+(?P<paper>[^-–—|]{2,40})$")


def fold(found: Iterable[Evidence]) -> list[Evidence]:
    """Each story once: the same page, or a title of the same words within a day or two.

    Whoever gives a text besides the headline stands for the story; the others are named in `corroborated_by`.
    """
    known: dict[str, Evidence] = {}
    kept: list[Evidence] = []
    for evidence in sorted(found, key=lambda evidence: not evidence.document.content):
        names = _names(evidence)
        same = next((known[name] for name in names if name in known), None)
        if same is None:
            same = evidence
            kept.append(evidence)
        else:
            _corroborate(same, evidence)
        known |= dict.fromkeys(names, same)
    return kept


def in_order(found: Iterable[Evidence]) -> list[Evidence]:
    """Best first: the score of ranks and agreement, raised by how near to the newest of them a result is."""
    results = list(found)
    dated = [_seconds(evidence) for evidence in results if evidence.document.HasField("published_at")]
    newest = max(dated, default=0)
    for evidence in results:
        evidence.score *= 1.0 + RECENCY_WEIGHT * _recency(evidence, newest)
    return sorted(results, key=lambda evidence: (-evidence.score, -_seconds(evidence), evidence.document.id))


def _recency(evidence: Evidence, newest: int) -> float:
    if not evidence.document.HasField("published_at"):
        return _UNKNOWN_RECENCY
    return float(0.5 ** ((newest - _seconds(evidence)) / HALF_LIFE.total_seconds()))


def _seconds(evidence: Evidence) -> int:
    return evidence.document.published_at.ToSeconds()


def _names(evidence: Evidence) -> Sequence[str]:
    """The spellings under which a story is known."""
    document = evidence.document
    words = roots(_headline(document.title, document.url))
    if len(words) < MIN_TITLE_WORDS or not document.HasField("published_at"):
        return (document.id,)
    day = document.published_at.ToDatetime(UTC).toordinal()
    title = " ".join(sorted(words))
    # Neighbouring days share one of the two, so that midnight divides no story.
    return (document.id, f"{title} {day}", f"{title} {day + 1}")


def _headline(title: str, url: str) -> str:
    """The title without the name of the paper, where its address shows that it is one."""
    match = _PAPER.search(title)
    if match is None:
        return title
    words = (word for word in roots(match["paper"]) if len(word) > 2 and word not in _OF_ANY_PAPER)
    domain = registrable_domain(url)
    return title[: match.start()] if any(word in domain for word in words) else title


def _corroborate(kept: Evidence, other: Evidence) -> None:
    identities = [*kept.corroborated_by, other.document.id, *other.corroborated_by]
    kept.corroborated_by[:] = [each for each in dict.fromkeys(identities) if each != kept.document.id]
    new = [name for name in other.providers if name not in kept.providers]
    if new:
        # Agreement of providers counts; one provider that finds many copies agrees only with itself.
        kept.score += other.score
    kept.providers.extend(new)
    kept.provider_adjustment = max(kept.provider_adjustment, other.provider_adjustment)
