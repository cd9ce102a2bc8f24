"""What kind of question it is, by the phrases it uses. Pure, explainable, a matter of microseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gateway import cues
from gateway.entities import entities

ENTITY_LOOKUP, MULTI_HOP = "entity_lookup", "multi_hop"
# Phrases are looked for at the beginning: what follows in a long text is pasted material, not the question.
_LONGEST_TEXT = 600
# What a type needs to be named at all; the heaviest is the primary one.
_LEAST = 2.0
# What a further phrase adds, and what is left of one in a statement, where it is more likely chance.
_CONFIRMED, _STATEMENT = 0.5, 0.4
_HOPS_WEIGHT, _LOOKUP_WEIGHT = 4.5, 2.5
# How many words may stand before a phrase at the head of a request.
_HEAD_WORDS = 6
# How many further words a question for one named thing may hold.
_BESIDE = 2
# The longest name that is looked up in lower case, in words, and what never stands in one.
_SHORT_NAME = 4
_SMALL = frozenset(
    ["of", "for", "in", "on", "to", "with", "from", "by", "and", "or", "that", "which", "when", "if", "than"]
)
_MOST_CUES = 16

_SPACES = re.compile(r"\s+")
# What is quoted at length, or stands behind a colon, is material: it says nothing about the question.
_QUOTED = re.compile(r"[\"“`][^\"”`]{40,}[\"”`]")
_PASTED = re.compile(r"((?:\S+ ){3,}\S+): \S+(?: \S+){3,}$")
_CUES = cues.read()
# Cashtags and currency pairs, as written.
_TICKERS = re.compile(r"(?<!\w)\$[A-Za-z]{1,5}(?:\.[A-Za-z]{1,2})?\b|\b[A-Z]{3}/[A-Z]{3}\b")
_WORD = re.compile(r"[\w'’]+")


@dataclass(frozen=True, slots=True)
class Classification:
    """What a question gives away: its types, primary first, the names in it, and the phrases that led there."""

    types: tuple[str, ...]
    entities: tuple[str, ...]
    cues: tuple[str, ...]
    news: bool
    finance: bool


@lru_cache(maxsize=512)
def classify(query: str) -> Classification:
    """Types may be empty: a question that gives nothing away is an ordinary one."""
    head = _SPACES.sub(" ", _QUOTED.sub(" ", query[:_LONGEST_TEXT])).strip()
    if pasted := _PASTED.match(head):
        head = pasted[1]
    lower = head.lower().replace("’", "'")
    names = entities(query, _CUES.not_names)
    found: dict[str, str] = {}
    scores = _scores(lower, names, found)
    news, finance = _CUES.news.search(lower), _CUES.finance.search(lower) or _TICKERS.search(head)
    matched = [found[name] for name in scores]
    matched += [match[0] for match in (news, finance) if match]
    return Classification(
        types=tuple(scores),
        entities=names,
        cues=tuple(dict.fromkeys(cue.strip() for cue in matched))[:_MOST_CUES],
        news=news is not None,
        finance=finance is not None,
    )


def _scores(lower: str, names: tuple[str, ...], found: dict[str, str]) -> dict[str, float]:
    """The types that hold, best first; `found` receives the phrase that speaks loudest for each."""
    asking = _CUES.asking.search(lower) is not None
    scores: dict[str, float] = {}
    for name, phrases in _CUES.types.items():
        total = 0.0
        for weight, pattern in phrases:
            if match := pattern.search(lower):
                weight *= 1.0 if asking or _opens(lower, match.start()) else _STATEMENT
                # The strongest phrase counts in full, a further one only confirms it.
                if not total:
                    found[name] = match[0]
                total = max(total, weight) + (_CONFIRMED if total else 0.0)
        if total >= _LEAST:
            scores[name] = total
    if hops := _hops(lower, asking):
        scores[MULTI_HOP], found[MULTI_HOP] = max(_HOPS_WEIGHT, scores.get(MULTI_HOP, 0.0)), hops
    if cue := _looked_up(lower, names):
        scores[ENTITY_LOOKUP], found[ENTITY_LOOKUP] = _LOOKUP_WEIGHT, cue
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def _opens(lower: str, start: int) -> bool:
    """Whether a phrase heads a request in keyword style: no full stop ends it, no verb before it states anything."""
    if lower.endswith(".") or lower.count(" ", 0, start) > _HEAD_WORDS:
        return False
    stated = _CUES.stating.search(lower)
    return stated is None or stated.start() > start


def _hops(lower: str, asking: bool) -> str:
    """The steps of a question that goes across an intermediate; empty for fewer than two."""
    steps = list(_CUES.hops.finditer(lower))
    if len(steps) < 2 or not (asking or _opens(lower, steps[0].start())):
        return ""
    return " … ".join(step[0].strip() for step in steps[:3])


def _looked_up(lower: str, names: tuple[str, ...]) -> str:
    """The words that ask for one named thing; empty when the question asks for more than that."""
    opening = _CUES.lookup.match(lower)
    rest = lower[opening.end() :] if opening else lower
    if len(names) == 1:
        rest = rest.replace(names[0].lower(), " ", 1)
        beside = sum(word not in _CUES.lookup_rest for word in _WORD.findall(rest))
        asking = opening or _CUES.defining.search(lower)
        if beside <= (_BESIDE if asking else 0):
            return asking[0] if asking else names[0]
    elif opening and not names and len(words := _WORD.findall(rest)) <= _SHORT_NAME:
        # A name in lower case: short, and none of the small words that a longer question is made of.
        return opening[0] if words and not _SMALL.intersection(words) else ""
    return ""
