"""Near-duplicates by meaning: what a lane's embeddings propose, and what words, numbers and denials have against it."""

from __future__ import annotations

from lanemesh.v1.evidence_pb2 import Evidence

from fusion_service.identity import Found
from fusion_service.similarity import denied, figures
from fusion_service.tokens import stems

# Documents of one subject may have one passage in common; near-duplicates share most of their words.
_SHARED_WORDS = 0.6
_READ = 8_000


def proposed(document: Found) -> list[str]:
    """The identities of documents whose best passage means the same, by the lanes that can tell."""
    return [name for sighting in document.sightings for name in sighting.evidence.near_duplicates]


def same(one: Found, other: Found) -> bool:
    """Whether nothing speaks against it: other words, or passages that differ in a number or in what they deny."""
    ours, theirs = _passage(one), _passage(other)
    if figures(ours) != figures(theirs) or denied(ours) != denied(theirs):
        return False
    mine, yours = (frozenset(stems(each.best.content[:_READ])) for each in (one, other))
    return bool(mine) and len(mine & yours) >= _SHARED_WORDS * len(mine | yours)


def _passage(document: Found) -> str:
    """The stretch that the embedding was made of."""
    for sighting in document.sightings:
        evidence: Evidence = sighting.evidence
        if evidence.near_duplicates:
            span = evidence.passage
            return sighting.content[span.start : span.end] if evidence.HasField("passage") else sighting.content[:_READ]
    return document.best.content[:_READ]
