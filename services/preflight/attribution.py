"""Claims that lean on a source without naming it: experts say, studies show, it is said."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanemesh.v1.lane_pb2 import SUGGESTION_TYPE_CONSTRAIN

from services.preflight.advice import Advice
from services.preflight.question import Question

UNNAMED = re.compile(
    r"\b(?:(?:some |many |most |recent |new )?(?:experts?|scientists?|researchers?|doctors?|studies"
    r"|research|science|people|they)"
    r" (?:say|says|claim|claims|think|believe|show|shows|suggest|suggests|prove|proves|have shown|has shown|agree)"
    r"|i (?:heard|read)(?: somewhere)? that|it is said that|supposedly|allegedly|reportedly|rumou?rs?)\b"
)
NAMED = re.compile(
    r"\b(?:according to|published|journal|pubmed|arxiv|wikipedia|cochrane|reuters|meta-analysis|trial)\b|https?://"
)
LEANING = re.compile(rf"(?:{UNNAMED.pattern})(?: that)? (?=\w)", re.IGNORECASE)
NEWS = re.compile(r"\b(?:reportedly|allegedly|rumou?rs?)\b")


def advise(question: Question) -> Sequence[Advice]:
    """Proposes a kind of source."""
    lowered = question.text.lower()
    if question.constraints.sources or not UNNAMED.search(lowered) or NAMED.search(lowered):
        return ()
    source, name = ("News reports", "news") if NEWS.search(lowered) else ("Published studies", "academic")
    reason = f"The question leans on sources it does not name; {name} sources would show them."
    return [Advice(SUGGESTION_TYPE_CONSTRAIN, f"{source} about the claim", _sourced(question, source), 0.55, reason)]


def _sourced(question: Question, source: str) -> str:
    """The claim behind the words that lean on somebody, put to a source; a question keeps its wording."""
    body = question.text.rstrip(" .!?")
    if claim := LEANING.match(body):
        return f"{source} on whether {body[claim.end() :]}"
    mark = "?" if question.text.rstrip().endswith("?") else ""
    return f"{body} according to {source.lower()}{mark}"
