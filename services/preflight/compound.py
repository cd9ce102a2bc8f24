"""Several questions in one: found where a new question begins, and each made to stand alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanemesh.v1.lane_pb2 import SUGGESTION_TYPE_DECOMPOSE

from services.preflight.advice import Advice
from services.preflight.question import FUNCTION_WORDS, Question, capitalised, tidy

MOST_PARTS = 3

_ASKING = r"(?:what|who|whom|whose|where|when|why|how|which)(?:'s|'re)?"
_AUXILIARY = (
    r"(?:is|are|was|were|does|do|did|can|could|should|would|will|has|have)(?: (?:it|its|they"
    r"|their|there|he|she|i|we|you|the|this|these|a|an)\b)"
)
_COMMAND = (
    r"(?:explain|describe|compare|list|summari[sz]e|show|tell me|give me|find|define|outline"
    r"|analy[sz]e|evaluate|discuss)"
)
# Where the next question begins: after a question mark, or after a joining word before something that asks.
_JOIN = re.compile(
    rf"\?+\s+(?:and |also |then |or )*(?=\S)"
    rf"|[,;]?\s+(?:and|plus)(?: also| then)?,?\s+(?=(?:{_ASKING}|{_AUXILIARY}|{_COMMAND})\b)"
    rf"|[,;]\s+(?:also |then )?(?=(?:{_ASKING}|{_COMMAND})\b)",
    re.IGNORECASE,
)
_OPENS = re.compile(
    rf"(?:please )?(?:{_ASKING}|{_AUXILIARY}|{_COMMAND}|is|are|does|do|did|can|was|were|should|will)\b", re.I
)
_LEAD_IN = re.compile(
    r"(?:please )?(?:explain(?: to me)?|describe|tell me|show me|find out)(?= (?:what|who|where|when|why|how|which)\b)",
    re.I,
)
_INDIRECT = re.compile(rf"{_ASKING} (?!(?:is|are|was|were|does|do|did|can|could|should|would|will|has|have)\b)", re.I)
# What the first part is about, so that a pronoun in a later part can be replaced by it: all that is defined or
# described, the object of what somebody or something does, or the subject in front of the verb.
_DEFINED = re.compile(
    r"(?:(?:who|what)(?:'s|'re| is| are| was| were)|(?:tell me|show me|explain|describe) what"
    r"|(?:please )?(?:explain|describe|define|tell me about|summari[sz]e))"
    r" (?!how|why|when|where|what)(?P<subject>.+?)(?: (?:is|are|was|were|means?|does|do))?",
    re.I,
)
_NO_VERB = r"(?!(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have)\b)"
_OBJECT = re.compile(rf"(?:who|what|which \w+) {_NO_VERB}\w+ {_NO_VERB}(?P<subject>.+)", re.I)
_BEFORE_VERB = re.compile(
    r"(?:(?:how|why|when|where) (?:does|do|did|is|are|was|were|can)|(?:tell me|show me"
    r"|explain) how) (?P<subject>.+) \w+",
    re.I,
)
_LONGEST_SUBJECT = 4
_PRONOUN = re.compile(r"\b(it|they|them|he|him|she|its|their|his)\b", re.I)
_MANY = frozenset({"they", "them", "their"})
_OWNING = frozenset({"its", "their", "his"})


def advise(question: Question) -> Sequence[Advice]:
    """Proposes each part on its own."""
    parts = _parts(question.text)
    if len(parts) < 2:
        return ()
    reason = f"The question asks {len(parts)} things; each is answered better on its own."
    return [
        Advice(SUGGESTION_TYPE_DECOMPOSE, f"Only: {part}", part, 0.85 - place / 100, reason)
        for place, part in enumerate(parts[:MOST_PARTS])
    ]


def _parts(text: str) -> list[str]:
    """The parts that stand alone; none when the text is one question, or fewer than two of its parts can."""
    pieces = [piece.strip(" \n\t.,;?!") for piece in _JOIN.split(text)]
    pieces = [piece for piece in pieces if piece]
    if len(pieces) < 2 or not all(_OPENS.match(piece) and _has_content(piece) for piece in pieces):
        return []
    standing = [_standing_alone(piece, pieces[0]) for piece in pieces]
    return [part for part in standing if part] if sum(map(bool, standing)) > 1 else []


def _has_content(piece: str) -> bool:
    """Whether a piece asks about something; "when" in "who wrote it and when" does not by itself."""
    words = [word.strip("'s") for word in piece.lower().split()]
    asks = [word for word in words if word not in FUNCTION_WORDS]
    return bool(asks) or (len(words) > 2 and bool(_PRONOUN.search(piece)))


def _standing_alone(piece: str, first: str) -> str:
    """The piece as a question of its own; empty when it holds a pronoun that only the whole explains."""
    lead = _LEAD_IN.match(first)
    if piece is not first:
        indirect = lead is not None and _INDIRECT.match(piece) is not None
        piece = _named(f"{lead[0]} {piece}" if lead and indirect else piece, first)
    mark = "" if not piece or re.match(rf"(?:please )?{_COMMAND}\b", piece, re.I) else "?"
    return capitalised(tidy(piece)) + mark


def _named(piece: str, first: str) -> str:
    """The piece with what the first one is about in place of its first pronoun; empty when the two do not agree."""
    pronoun = _PRONOUN.search(piece)
    if pronoun is None:
        return piece
    subject = _subject(first)
    if pronoun[0].lower() in _MANY and not subject.lower().endswith("s"):
        return ""

    def replaced(match: re.Match[str]) -> str:
        return f"{subject}'s" if match[0].lower() in _OWNING else subject

    return _PRONOUN.sub(replaced, piece, count=1) if subject else ""


def _subject(first: str) -> str:
    for pattern in (_DEFINED, _OBJECT, _BEFORE_VERB):
        found = pattern.fullmatch(first)
        if (
            found
            and len(found["subject"].split()) <= _LONGEST_SUBJECT
            and found["subject"].lower() not in FUNCTION_WORDS
        ):
            return found["subject"]
    return ""
