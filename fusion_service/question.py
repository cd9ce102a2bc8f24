"""What a query asks about: its terms, how rare each is in the evidence, and which of them nothing speaks to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from math import log

from fusion_service.passages import Index
from fusion_service.tokens import fold, normal, words
from fusion_service.words import NUMBER_WORDS, PHRASING

NO_EVIDENCE = "Nothing found: no lane returned evidence."
NO_ANSWER = "Nothing found that answers the question."
# Beyond this many words a query is a text; its first words say what it is about.
_MOST_TERMS = 64
_MOST_MISSING = 8
# Words that only phrase the question weigh less than its subject.
_PHRASING_WEIGHT = 0.3
_NEEDLE = 5
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(slots=True)
class Question:
    """The terms of a query by their comparable form."""

    # Comparable form to the word as written, in order.
    terms: dict[str, str]
    names: frozenset[str]
    # Terms that only phrase the question.
    phrasing: set[str]
    # Other spellings: all words of a key's set together speak to its terms.
    spellings: list[tuple[frozenset[str], tuple[str, ...]]]

    def hits(self, bag: Set[str]) -> Set[str]:
        """The terms that a bag of words speaks to."""
        found = self.names & bag
        for spelling, terms in self.spellings:
            if spelling <= bag:
                found = found.union(terms)
        return found

    def needles(self) -> list[str]:
        """Beginnings of words, of which every text that speaks to a term contains one."""
        needles = {needle for term in self.terms for needle in _needles(term)}
        return sorted(needles)

    def subjects(self) -> list[str]:
        """Beginnings of the words that name what is asked about, phrasing and numbers left out."""
        named = [term for term in self.terms if term not in self.phrasing and not term[0].isdigit()]
        return sorted({_needles(term)[0] for term in named})

    def weights(self, index: Index) -> dict[str, float]:
        """Each term's weight: rare in the sentences at hand weighs more."""
        count = len(index.passages)
        weights = {}
        for term in self.terms:
            rarity = log(1.0 + (count + 1) / (len(index.postings.get(term, ())) + 0.5))
            weights[term] = rarity * _PHRASING_WEIGHT if term in self.phrasing else rarity
        return weights

    def missing(self, index: Index) -> list[str]:
        """One sentence for each subject that no sentence, title or heading of the evidence speaks to."""
        known = set(index.postings)
        for context in {passage.context for passage in index.passages}:
            known |= context
        found = self.hits(known) | self.phrasing
        absent = [written for term, written in self.terms.items() if term not in found]
        return [f'Nothing found about "{written}".' for written in absent[:_MOST_MISSING]]


def ask(query: str, entities: Sequence[str]) -> Question:
    """The question behind a query and the entities recognised in it."""
    terms: dict[str, str] = {}
    phrasing: set[str] = set()
    written = words(query)[:_MOST_TERMS]
    for word in written:
        if term := normal(word):
            terms.setdefault(term, _display(word))
            if fold(word) in PHRASING or term in PHRASING:
                phrasing.add(term)
    for entity in entities[:_MOST_TERMS]:
        for word in words(entity)[:_MOST_TERMS]:
            if term := normal(word):
                terms.setdefault(term, _display(word))
                phrasing.discard(term)
    return Question(terms, frozenset(terms), phrasing, list(_spellings(written, terms)))


def _needles(term: str) -> list[str]:
    if term[0].isdigit():
        return [term[0], *(word for word, value in NUMBER_WORDS.items() if value == term)]
    # "retry" also stands for "retries".
    return [term.removesuffix("y")[:_NEEDLE]]


def _display(word: str) -> str:
    return "".join(filter(str.isprintable, word.strip(".,:'’")))


def _spellings(written: Sequence[str], terms: Iterable[str]) -> Iterable[tuple[frozenset[str], tuple[str, ...]]]:
    """payment gateway is also PaymentGateway, and the other way round."""
    for one, other in pairwise(written):
        pair = (normal(one), normal(other))
        if all(pair):
            yield frozenset([normal(fold(one) + fold(other))]), pair
    for word in written:
        humps = _HUMP.findall(word)
        if len(humps) > 1 and normal(word) in terms:
            yield frozenset(map(normal, humps)) - {""}, (normal(word),)
