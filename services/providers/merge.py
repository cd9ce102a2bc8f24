"""Results of several providers as one list: the same page once, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lanemesh.v1.evidence_pb2 import Evidence

# As in fusion: damps the difference between the first ranks, so that agreement counts for more than place.
RANK_CONSTANT = 60.0

# The spellings under which a result is known; results that share one are the same.
Keys = Callable[[Evidence], Iterable[str]]


def by_identity(evidence: Evidence) -> Iterable[str]:
    """The same canonical URL is the same page."""
    return (evidence.document.id,)


def merge(groups: Iterable[Sequence[Evidence]], keys: Keys = by_identity) -> list[Evidence]:
    """One list from the ranked lists of several providers; each score is Σ (1 + adjustment) / (60 + rank)."""
    known: dict[str, Evidence] = {}
    merged: list[Evidence] = []
    for group in groups:
        for rank, found in enumerate(group, start=1):
            names = list(keys(found))
            same = next((known[name] for name in names if name in known), None)
            if same is None:
                same = Evidence()
                same.CopyFrom(found)
                same.score = 0.0
                merged.append(same)
            else:
                _complete(same, found)
            same.score += (1.0 + found.provider_adjustment) / (RANK_CONSTANT + rank)
            known |= dict.fromkeys(names, same)
    # Stable: between equals the provider that was asked first stands first.
    return sorted(merged, key=lambda evidence: -evidence.score)


def _complete(kept: Evidence, other: Evidence) -> None:
    """What the other provider knew and the first did not."""
    kept.providers.extend(name for name in other.providers if name not in kept.providers)
    kept.provider_adjustment = max(kept.provider_adjustment, other.provider_adjustment)
    for name in ("title", "content", "author", "language", "licence"):
        if not getattr(kept.document, name):
            setattr(kept.document, name, getattr(other.document, name))
    if not kept.document.HasField("published_at") and other.document.HasField("published_at"):
        kept.document.published_at.CopyFrom(other.document.published_at)
