"""How much of what a question names a document speaks of, each document read once per query."""

from __future__ import annotations

from fusion_service.identity import Found
from fusion_service.question import Question

# Of longer texts the opening is read.
_READ = 4_000


class Coverage:
    """The share of a question's subjects that documents contain, by the beginnings of words."""

    def __init__(self, question: Question) -> None:
        subjects = question.subjects()
        # Lowering bytes, where only ASCII has case, takes a tenth of the time that lowering a text does.
        self._plain = [subject.encode() for subject in subjects if subject.isascii()]
        self._others = [subject for subject in subjects if not subject.isascii()]
        self._count = len(subjects)
        self._known: dict[str, float] = {}

    def of(self, found: Found) -> float:
        """0..1 for one document; 0 where the question names nothing."""
        value = self._known.get(found.id)
        if value is None:
            value = self._known[found.id] = self._read(found) / self._count if self._count else 0.0
        return value

    def _read(self, found: Found) -> int:
        """How many subjects its title, summary or content contains."""
        document = found.best.evidence.document
        text = f"{document.title} {document.summary[:_READ]} {found.best.content[:_READ]}"
        plain = text.encode().lower()
        hits = 0
        for subject in self._plain:
            if subject in plain:
                hits += 1
        if self._others:
            lowered = text.lower()
            hits += sum(subject in lowered for subject in self._others)
        return hits
