"""The extractive answer: the best-supported sentences that answer the query, none said twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from fusion_service.passages import Index, Passage
from fusion_service.question import Question
from fusion_service.words import BOILERPLATE, LEANING
from services.text.sentences import ROW

GROUPS = ("local", "graph", "similar")
SENTENCES = 6
CHARACTERS_PER_TOKEN = 4
# Sentences that enter the choice after scoring.
_SHORT_LIST = 24
_FEWEST_WORDS, _MOST_WORDS = 3, 40
# A title or heading says what a sentence is about, but less surely than the sentence.
_CONTEXT_SHARE = 0.4
# Least share of the query a sentence must speak to, and least score beside the best.
_LEAST_COVERAGE, _LEAST_BESIDE_BEST = 0.15, 0.5
# Sentences sharing more of their words than this say the same.
_REDUNDANT = 0.6
# How much of a sentence's value depends on adding to what is already said.
_NOVELTY_SHARE = 0.5
_CODE_MARKS = str.maketrans("", "", "={}();<>_$\\|")
_MOST_CODE = 0.06
_NOTHING: Set[str] = frozenset()


@dataclass(slots=True, eq=False)
class Candidate:
    """A sentence that may be chosen."""

    passage: Passage
    score: float
    # Terms of the question it speaks to.
    hits: Set[str]
    # Largest share of its words already said.
    said: float = 0.0


def synthesise(candidates: Sequence[Candidate], max_tokens: int) -> list[Passage]:
    """The chosen sentences in the order of the answer: local, then graph, then similar; by rank inside each."""
    chosen = _choose(candidates, max_tokens * CHARACTERS_PER_TOKEN)
    return sorted(chosen, key=lambda passage: (GROUPS.index(passage.source.group), passage.number))


def short_list(question: Question, index: Index) -> list[Candidate]:
    """The sentences that speak to the question, best first."""
    weights = question.weights(index)
    total = sum(weights.values())
    candidates: list[Candidate] = []
    rank, source, context, about = -1, None, None, _NOTHING
    for passage in index.passages:
        if passage.source is not source:
            rank, source = rank + 1, passage.source
        if passage.context is not context:
            context, about = passage.context, question.hits(passage.context)
        if passage.kind == ROW or len(passage.stems) < _FEWEST_WORDS:
            continue
        hits = question.hits(passage.bag)
        if not (hits or about) and weights:
            continue
        coverage = _coverage(weights, hits, about) / total if weights else 1.0
        if coverage >= _LEAST_COVERAGE:
            candidates.append(Candidate(passage, coverage * _standing(rank, passage), hits))
    candidates.sort(key=lambda candidate: -candidate.score)
    usable = [candidate for candidate in candidates[: 2 * _SHORT_LIST] if _readable(candidate.passage.text)]
    return usable[:_SHORT_LIST]


def _coverage(weights: Mapping[str, float], hits: Set[str], about: Set[str]) -> float:
    """Weight of the terms spoken to. Summed in the order of `weights`, as sets have none that lasts."""
    value = 0.0
    for term, weight in weights.items():
        if term in hits:
            value += weight
        elif term in about:
            value += weight * _CONTEXT_SHARE
    return value


def _standing(rank: int, passage: Passage) -> float:
    """What rank, place in the document and shape of the sentence make of its coverage."""
    value = (0.9 + 0.1 / (1 + passage.position)) / (1.0 + 0.05 * rank)
    if len(passage.stems) > _MOST_WORDS:
        value *= 0.7
    if passage.text[-1] not in '.!。！"”)':
        value *= 0.8
    if passage.text.partition(" ")[0].lower() in LEANING:
        value *= 0.8
    return value


def _readable(text: str) -> bool:
    """Neither a question, nor page furniture, nor code."""
    if text[-1] in "?？:" or len(text) - len(text.translate(_CODE_MARKS)) > _MOST_CODE * len(text):
        return False
    lowered = text.lower()
    return not any(phrase in lowered for phrase in BOILERPLATE)


def _choose(candidates: Sequence[Candidate], room: int) -> list[Passage]:
    """Greedy: each next sentence is the best by score, by new terms and by words not yet said."""
    chosen: list[Passage] = []
    answered: set[str] = set()
    least = candidates[0].score * _LEAST_BESIDE_BEST if candidates else 0.0
    left = [candidate for candidate in candidates if candidate.score >= least]
    while left and len(chosen) < SENTENCES:
        left = [one for one in left if one.said < _REDUNDANT and len(one.passage.text) <= room]
        if not left:
            break
        best = max(left, key=lambda one: one.score * _novelty(one, answered))
        left.remove(best)
        chosen.append(best.passage)
        answered |= best.hits
        room -= len(best.passage.text) + 1
        _mark_said(left, best.passage.bag)
    return chosen


def _novelty(candidate: Candidate, answered: set[str]) -> float:
    fresh = len(candidate.hits - answered) / len(candidate.hits) if candidate.hits else 1.0
    return (1.0 - _NOVELTY_SHARE + _NOVELTY_SHARE * fresh) * (1.0 - candidate.said)


def _mark_said(left: Iterable[Candidate], said: Set[str]) -> None:
    for candidate in left:
        bag = candidate.passage.bag
        share = len(bag & said) / min(len(bag), len(said))
        if share > candidate.said:
            candidate.said = share
