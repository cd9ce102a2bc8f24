"""One piece of advice, as every rule gives it and the model's reply is read into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lanemesh.v1.lane_pb2 import Suggestion, SuggestionType

from services.preflight.question import Question

TITLE = 60
REASON = 200


@dataclass(frozen=True, slots=True)
class Advice:
    """A proposed query and why; `confidence` orders advice, 0..1."""

    type: SuggestionType.ValueType
    title: str
    refined_query: str
    confidence: float
    reason: str

    def suggestion(self, identity: str) -> Suggestion:
        """The advice as the contract carries it, within its limits."""
        return Suggestion(
            id=identity,
            title=shorten(self.title, TITLE),
            refined_query=self.refined_query,
            type=self.type,
            confidence=self.confidence,
            reason=shorten(self.reason, REASON),
        )


# A rule looks at a question and gives none, one or several pieces of advice. It is pure.
Rule = Callable[[Question], Sequence[Advice]]


def shorten(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut at a word where there is one."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    kept = line[: limit - 1]
    head, space, _ = kept.rpartition(" ")
    return (head if space and len(head) > limit // 2 else kept) + "…"
