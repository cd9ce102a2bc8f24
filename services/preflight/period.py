"""Questions about what is recent or how something develops, without saying since when."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanemesh.v1.lane_pb2 import SUGGESTION_TYPE_CONSTRAIN, Constraints

from services.preflight.advice import Advice
from services.preflight.question import Question

_SUBJECTS = (
    r"(?:news|advances?|advancements?|developments?|research|studies|findings|progress|breakthroughs|updates|changes|trends"
    r"|papers|articles|publications|events|results|incidents|outages|innovations|discoveries|attacks|announcements|literature)"
)
# "The latest version" is one thing at one time; the latest news are many, and reach back to some day.
RECENT = re.compile(
    rf"\b(?:latest|recent|newest|current|new|up-to-date) (?:[\w-]+ ){{0,2}}{_SUBJECTS}\b|\b(?:recently"
    rf"|lately|nowadays|these days)\b"
    rf"|\bwhat(?:'s| is) new (?:in|with|about)\b"
)
TREND = re.compile(
    r"\b(?:trends? (?:in|of|for)|over time|over the years"
    r"|how (?:has|have|did) .{1,80}? (?:changed?|evolved?|grown?|grew|developed?|increased?|decreased?"
    r"|declined?|improved?))\b"
)
PERIOD = re.compile(
    r"\b(?:1[5-9]|20)\d\d(?:s\b|\b)|\b(?:since|until|before|after|between|during)\b|\bq[1-4]\b"
    r"|\b\d+ ?(?:days?|weeks?|months?|years?)\b"
    r"|\b(?:today|yesterday|tonight|this|last|past|previous|coming|next) ?"
    r"(?:hour|day|week|weekend|month|quarter|year|decade|century|few|two|three|five|ten|january|february|march|april|may|june|july"
    r"|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|summer|winter|spring)?"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b|\b\d{4}-\d\d\b"
    r"|\b(?:19|20)\d0s\b|\bever\b|\ball[- ]time\b|\bhistorical(?:ly)?\b"
)


def chosen(constraints: Constraints) -> bool:
    """Whether the caller has bounded the time already."""
    dated = constraints.HasField("published_after") or constraints.HasField("published_before")
    return bool(constraints.time_range) or dated


def proposed(question: Question) -> str:
    """The time range the wording suggests: recent, 5_years, all_time or none."""
    lowered = question.text.lower()
    if re.search(r"\b(?:history|historical(?:ly)?|origins? of|all[- ]time|ever)\b", lowered):
        return "all_time"
    if TREND.search(lowered):
        return "5_years"
    fresh = RECENT.search(lowered) or re.search(
        r"\b(?:latest|newest|today|yesterday|breaking|this (?:week|month))\b", lowered
    )
    return "recent" if fresh else ""


def advise(question: Question) -> Sequence[Advice]:
    """Proposes a period."""
    lowered = question.text.lower()
    if chosen(question.constraints) or PERIOD.search(lowered):
        return ()
    if TREND.search(lowered):
        return [
            _within(question, "over the past five years", "The question is about a development but names no period.")
        ]
    if RECENT.search(lowered):
        period = "in the past week" if re.search(r"\bnews\b", lowered) else "in the past year"
        return [_within(question, period, "The question asks for what is recent but not since when.")]
    return ()


def _within(question: Question, period: str, reason: str) -> Advice:
    body = question.text.rstrip(" .!?")
    mark = "?" if question.text.rstrip().endswith("?") else ""
    return Advice(
        SUGGESTION_TYPE_CONSTRAIN, f"Look at what was published {period}", f"{body} {period}{mark}", 0.6, reason
    )
