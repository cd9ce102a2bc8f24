"""From a query to advice by rules: personal data out first, then every rule, the best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanemesh.v1.evidence_pb2 import Span
from lanemesh.v1.lane_pb2 import SUGGESTION_TYPE_SANITIZE, PersonalData, Preflight, RetrieveRequest

from services.preflight import attribution, breadth, compound, meanings, period, reference
from services.preflight.advice import Advice, Rule
from services.preflight.chips import offered
from services.preflight.personal import find as personal
from services.preflight.personal.item import Item
from services.preflight.question import Question

RULES: Sequence[Rule] = (
    compound.advise,
    meanings.advise,
    reference.advise,
    breadth.advise,
    period.advise,
    attribution.advise,
)
MOST_SUGGESTIONS = 3
# Beyond this a query is a pasted text, about whose wording there is nothing to advise.
LONGEST_QUESTION = 600


@dataclass(frozen=True, slots=True)
class Read:
    """A query as it came, the personal data in it, and the question without that data."""

    query: str
    items: Sequence[Item]
    question: Question

    @property
    def is_prose(self) -> bool:
        """Whether the wording is worth advice."""
        return len(self.question.text) <= LONGEST_QUESTION

    def sanitized(self) -> Sequence[Advice]:
        """The query without personal data, when it held any."""
        if not self.items:
            return ()
        kinds = ", ".join(dict.fromkeys(item.kind.replace("_", " ") for item in self.items))
        reason = f"The query holds personal data or a secret ({kinds}) that searching does not need."
        return [Advice(SUGGESTION_TYPE_SANITIZE, f"Remove {kinds}", self.question.text, 0.95, reason)]


def read(request: RetrieveRequest) -> Read:
    """Reads a request once, for rules, vocabulary and model."""
    items = personal.find(request.query)
    question = Question(personal.redact(request.query, items), request.constraints, bool(request.context))
    return Read(request.query, items, question)


def by_rules(read: Read) -> list[Advice]:
    """What the rules advise on the wording."""
    if not read.is_prose:
        return []
    # A name with several meanings is advised on by its meanings alone, not as a single word as well.
    found: list[Advice] = []
    for rule in RULES:
        if rule is not breadth.advise or not found:
            found.extend(rule(read.question))
    return found


def fill(preflight: Preflight, read: Read, advice: Sequence[Advice], limit: int, proposed: Mapping[str, str]) -> None:
    """Writes the advice into the reply, best first and without repetition; `proposed` overrides the chips' choices."""
    ranked = sorted(advice, key=lambda each: -each.confidence)
    distinct = {each.refined_query.casefold(): each for each in reversed(ranked)}
    kept = [each for each in ranked if distinct[each.refined_query.casefold()] is each]
    for number, each in enumerate(kept[: min(MOST_SUGGESTIONS, limit)], start=1):
        preflight.suggestions.append(each.suggestion(f"s{number}"))
    preflight.should_trigger = bool(preflight.suggestions)
    for chip in offered(read.question):
        chip.proposed = proposed.get(chip.constraint, chip.proposed)
        preflight.chips.append(chip)
    for item in read.items:
        preflight.personal_data.append(_personal(read.query, item))


def _personal(query: str, item: Item) -> PersonalData:
    start_byte = len(query[: item.start].encode())
    end_byte = start_byte + len(query[item.start : item.end].encode())
    span = Span(start=item.start, end=item.end, start_byte=start_byte, end_byte=end_byte)
    return PersonalData(kind=item.kind, span=span, redacted=item.redacted)
