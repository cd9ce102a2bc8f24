"""How much of what a question names a document speaks of, each document read once per query."""

from __future__ import annotations

from fusion_service.identity import Found
from fusion_service.question import Question

# Of longer texts the opening is read.
_READ = 4_000


class Coverage:
    """The share of a question's subjects that documents contain, by the beginnings of words."""

    def __init__(self, question: Question) -> None:
        self._subjects = question.subjects()
        self._known: dict[str, float] = {}

    def of(self, found: Found) -> float:
        """0..1 for one document; 0 where the question names nothing."""
        value = self._known.get(found.id)
        if value is None:
            value = self._known[found.id] = self._read(found) if self._subjects else 0.0
        return value

    def _read(self, found: Found) -> float:
        document = found.best.evidence.document
        text = f"{document.title} {document.summary[:_READ]} {found.best.content[:_READ]}".lower()
        return sum(map(text.__contains__, self._subjects)) / len(self._subjects)
