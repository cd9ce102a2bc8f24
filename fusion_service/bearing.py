"""Passages that bear on a sentence in other words: word beginnings covered by the passage and by its whole source."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from heapq import nlargest
from math import sqrt

from fusion_service.claims import claim
from fusion_service.contradiction import compare
from fusion_service.figures import Figure, read
from fusion_service.passages import Index, Passage, Statement
from fusion_service.tokens import normal, words

# A word is compared by its beginning, so that other forms of it count too.
_BEGINNING = 5
# What the sentence before, the title and the heading say counts for the passage, but less.
_CONTEXT_SHARE = 0.15
# A source is judged by its best passages and by what it covers as a whole.
_BEST_PASSAGES, _WHOLE_SHARE = 3, 0.2
# Of a source only so many passages are weighed; a sentence that only asks counts for less, one that tells of a change
# or denies one for more.
_WEIGHED, _ASKING, _FINDING = 12, 0.7, 0.06
# With this share of its words in the passage a sentence is also held against what the passage says.
_SAME_WORDS = 0.7
# Judged so, from here on a source bears on a sentence; this is similarity 0.7. Calibrated on scientific claims.
_BEARS, _AS_SIMILARITY = 0.304, 0.7
# Counts up to this are compared as words.
_SMALL = 10.0
_BRACKETED = re.compile(r"\([^()]*\)")


class Beginnings:
    """An index by the beginnings of words."""

    def __init__(self, index: Index) -> None:
        self._passages = index.passages
        self._bags = [_beginnings(passage.bag) for passage in index.passages]
        self._contexts = [self._context(passage) for passage in index.passages]
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._whole: dict[int, set[str]] = defaultdict(set)
        for number, bag in enumerate(self._bags):
            source = id(index.passages[number].source)
            self._whole[source] |= bag | _beginnings(index.passages[number].context)
            for beginning in bag:
                self._postings[beginning].append(number)

    def bearing(self, sentence: Statement, most: int) -> list[tuple[Passage, float]]:
        """Passages and their similarity to the sentence, best first, from all sources that bear on it."""
        wanted = {beginning: _weight(beginning) for beginning in sorted(_beginnings(sentence.bag))}
        total = sum(wanted.values())
        found: list[tuple[Passage, float]] = []
        for source, covered in self._by_source(wanted).items():
            best = self._findings(covered, total)
            top = [value for value, _ in best[:_BEST_PASSAGES]]
            whole = sum(weight for beginning, weight in wanted.items() if beginning in self._whole[source])
            bears = ((1.0 - _WHOLE_SHARE) * sum(top) / len(top) + _WHOLE_SHARE * whole) / total
            denied = any(_denies(sentence, self._passages[number]) for _, number in best[:most])
            if not denied and _vouched(sentence, self._whole[source]):
                found.extend(self._similar(sentence, best[:most], bears))
        return nlargest(most, found, key=lambda pair: pair[1])

    def _by_source(self, wanted: Mapping[str, float]) -> dict[int, list[tuple[float, int]]]:
        """What the passages of each source cover, context included."""
        covered: dict[int, float] = defaultdict(float)
        for beginning, weight in wanted.items():
            for number in self._postings.get(beginning, ()):
                covered[number] += weight
        by_source: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for number, value in covered.items():
            granted = (wanted.keys() & self._contexts[number]) - self._bags[number]
            value += _CONTEXT_SHARE * sum(wanted[beginning] for beginning in sorted(granted))
            by_source[id(self._passages[number].source)].append((value, number))
        return by_source

    def _findings(self, covered: list[tuple[float, int]], total: float) -> list[tuple[float, int]]:
        """The passages that cover most, best first; what only asks counts for less, what tells a change for more."""
        weighed = []
        for value, number in nlargest(_WEIGHED, covered, key=lambda pair: (pair[0], -pair[1])):
            told = claim(self._passages[number].text)
            value = value * _ASKING if told.open else value
            weighed.append((value + _FINDING * total if told.moved or told.without_effect else value, number))
        return sorted(weighed, key=lambda pair: (-pair[0], pair[1]))

    def _similar(
        self, sentence: Statement, best: list[tuple[float, int]], bears: float
    ) -> Iterable[tuple[Passage, float]]:
        """The similarity falls from that of the best passage towards the threshold as passages cover less."""
        highest = best[0][0]
        similarity = _similarity(bears)
        for value, number in best:
            passage = self._passages[number]
            if _same_figures(sentence, self._around(passage)):
                below = min(similarity, _AS_SIMILARITY)
                yield passage, below + (similarity - below) * value / highest

    def _around(self, passage: Passage) -> str:
        """The passage with its neighbours."""
        near = self._passages[max(0, passage.number - 1) : passage.number + 2]
        return " ".join(one.text for one in near if one.source is passage.source)

    def _context(self, passage: Passage) -> frozenset[str]:
        before = self._passages[passage.number - 1] if passage.number else None
        near = before.bag if before is not None and before.source is passage.source else frozenset()
        return _beginnings(passage.context | near)


def _similarity(bears: float) -> float:
    """Coverage on the scale of similarity: the calibrated point becomes 0.7, full coverage 1."""
    if bears < _BEARS:
        return _AS_SIMILARITY * bears / _BEARS
    return _AS_SIMILARITY + (1.0 - _AS_SIMILARITY) * min(1.0, (bears - _BEARS) / (1.0 - _BEARS))


def _denies(sentence: Statement, passage: Passage) -> bool:
    """Whether it says almost the same words and yet not the same."""
    said = len(sentence.bag & passage.bag) >= _SAME_WORDS * len(sentence.bag)
    return said and compare(claim(sentence.text), claim(passage.text)) is not None


def _vouched(sentence: Statement, whole: set[str]) -> bool:
    """Whether the source speaks of every name of the sentence, and of one of its codes, for which it may have others.

    What stands in brackets only repeats what it stands for.
    """
    written = words(_BRACKETED.sub("", sentence.text))
    codes = {word for word in written if any(map(str.isupper, word[1:]))}
    names = {word for word in written[1:] if word[:1].isupper()} - codes
    told = [normal(word)[:_BEGINNING] in whole for word in sorted(codes) if normal(word)]
    return (any(told) or not told) and all(normal(word)[:_BEGINNING] in whole for word in names if normal(word))


def _same_figures(sentence: Statement, around: str) -> bool:
    """A sentence whose numbers are absent from the passage and its neighbours is not supported by it.

    A single digit without a unit is as often part of a name, as in "type 2"; it is compared as a word.
    """
    figures = [figure for figure in read(sentence.text)[0] if not figure.counts or figure.high > _SMALL]
    theirs = read(around)[0] if figures else []
    return all(any(_agree(one, other) for other in theirs) for one in figures)


def _agree(one: Figure, other: Figure) -> bool:
    return not one.excludes(other) and (one.dimension == other.dimension or (one.counts and other.counts))


def _beginnings(stems: Iterable[str]) -> frozenset[str]:
    return frozenset(stem[:_BEGINNING] for stem in stems)


def _weight(beginning: str) -> float:
    return 2.0 if beginning[0].isdigit() else sqrt(len(beginning))
