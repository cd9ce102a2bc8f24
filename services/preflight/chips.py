"""Constraints offered to the user: those not chosen yet, with a proposal where the wording suggests one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from lanemesh.v1.lane_pb2 import ConstraintChip

from services.preflight import period
from services.preflight.question import Question

Cues = tuple[tuple[str, re.Pattern[str]], ...]


def _cues(**words: str) -> Cues:
    return tuple((value, re.compile(rf"\b(?:{pattern})\b")) for value, pattern in words.items())


SOURCES = _cues(
    academic=(
        r"stud(?:y|ies)|papers?|peer[- ]reviewed|journals?|clinical|trials?|meta-analys[ie]s"
        r"|literature|researchers?|academic"
    ),
    news=r"news|headlines?|breaking|press|journalists?|reportedly|announced",
    financial=r"stocks?|share price|shares of|market cap|earnings|dividends?|nasdaq|bond yields?|exchange rate",
    code=(
        r"source code|code examples?|functions?|class(?:es)? named|snippets?|implementation of"
        r"|stack trace|unit tests?"
    ),
    docs=r"documentation|docs|manual|readme|runbook|handbook|reference guide|changelog|release notes",
)
COST = _cues(
    low=r"quick(?:ly)?|brief(?:ly)?|short answer|in short|in one sentence|tl;?dr|just (?:tell|give)",
    high=(
        r"exhaustive(?:ly)?|comprehensive(?:ly)?|thorough(?:ly)?|in[- ]depth|systematic review"
        r"|as (?:much|many) as possible"
    ),
)
DEPTH = _cues(
    simple=(
        r"simple (?:terms|words)|simply|for (?:a )?(?:beginners?|child|kids?|dummies)"
        r"|like i'?m (?:five|5)|eli5|layman'?s?"
    ),
    research=(
        r"systematic review|state of the art|literature|survey of|meta-analys[ie]s|open problems"
        r"|compare (?:studies|approaches)"
    ),
    technical=(
        r"implement(?:ation|ed)?|algorithms?|stack trace|configur(?:e|ation)|debug|api|latency"
        r"|throughput|schema|protocol"
    ),
)
CITATIONS = _cues(
    true=(
        r"cite[sd]?|citations?|with (?:sources|references)|references? for|evidence (?:for|that|of)"
        r"|prove[sn]?|fact[- ]check|is it true"
    )
)


@dataclass(frozen=True, slots=True)
class Offer:
    """A constraint with its options, when it counts as chosen, and what the wording proposes."""

    constraint: str
    options: tuple[str, ...]
    chosen: Callable[[Question], bool]
    proposed: Callable[[Question], str]


def _by(cues: Cues) -> Callable[[Question], str]:
    def proposed(question: Question) -> str:
        lowered = question.text.lower()
        return next((value for value, pattern in cues if pattern.search(lowered)), "")

    return proposed


# Options are spelled as clients spell the constraint's values.
OFFERS = (
    Offer("time_range", ("recent", "5_years", "all_time"), lambda it: period.chosen(it.constraints), period.proposed),
    Offer(
        "sources",
        ("academic", "news", "financial", "docs", "code", "web"),
        lambda it: bool(it.constraints.sources),
        _by(SOURCES),
    ),
    Offer("citations_required", ("true", "false"), lambda it: it.constraints.citations_required, _by(CITATIONS)),
    Offer("cost", ("low", "medium", "high"), lambda it: bool(it.constraints.cost), _by(COST)),
    Offer("depth", ("simple", "technical", "research"), lambda it: bool(it.constraints.depth), _by(DEPTH)),
)


def offered(question: Question) -> list[ConstraintChip]:
    """One chip for every constraint the caller has not chosen."""
    return [
        ConstraintChip(constraint=offer.constraint, options=offer.options, proposed=offer.proposed(question))
        for offer in OFFERS
        if not offer.chosen(question)
    ]
