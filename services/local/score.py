"""Ranking sections for a query by BM25, with words in the headings and the path counting for more. No I/O."""

from __future__ import annotations

import heapq
import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from services.local.terms import WORD, terms

# The usual constants of BM25: how soon repetition stops counting, how much long sections pay for their length.
SATURATION = 1.2
LENGTH_SHARE = 0.75

# Occurrences a word is worth where it stands. A section's own heading is part of its body as well.
OWN_HEADING = 2.0
SURROUNDINGS = 0.5
# What an identifier found whole adds to its parts.
WHOLE_IDENTIFIER = 0.5

# A long question shares a word with almost any page: one matching word is asked for per so many, three at most.
WORDS_PER_MATCH = 5
MOST_MATCHES_ASKED = 3

MASK_BITS = 2_048


@dataclass(frozen=True, slots=True)
class Fields:
    """The text of one section by where it stands; `around` is the outer headings and the file's path."""

    body: str
    heading: str = ""
    around: str = ""


@dataclass(frozen=True, slots=True)
class Postings:
    """Which terms stand in which sections of one file. Three flat arrays sorted by term: 16 bytes per posting."""

    keys: array[int]
    sections: array[int]
    weights: array[float]
    lengths: array[int]
    # One bit per term, by its last bits: a clear bit says that the file lacks the term, sooner than a search would.
    mask: int


@dataclass(frozen=True, slots=True)
class Query:
    """The words looked for: each term with the word it was written as, and identifiers as a whole."""

    words: dict[str, str]
    wholes: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Query:
        """The terms of a question, in its order."""
        words: dict[str, str] = {}
        wholes: set[str] = set()
        for word in WORD.findall(text):
            found = terms(word)
            for part in found.parts:
                words.setdefault(part, word)
            if found.whole:
                wholes.add(found.whole)
        return cls(words, frozenset(wholes))


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that matched. `confidence` is its share of the highest score any section could have reached."""

    file: int
    section: int
    score: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best sections, how many matched in all, and the weight of each term for choosing passages."""

    hits: tuple[Hit, ...]
    total: int
    weights: dict[str, float]


def key_of(term: str) -> int:
    """A term as the arrays hold it: Python's own 64-bit hash, stable inside one process."""
    return hash(term)


def post(sections: Iterable[Fields]) -> Postings:
    """The postings of one file's sections."""
    rows: list[tuple[int, int, float]] = []
    lengths = array("I")
    for number, fields in enumerate(sections):
        weights, length = _weigh(fields)
        rows += [(key_of(term), number, weight) for term, weight in weights.items()]
        lengths.append(length)
    rows.sort()
    keys, numbers, values = zip(*rows, strict=True) if rows else ((), (), ())
    mask = sum(1 << bit for bit in {key % MASK_BITS for key in keys})
    return Postings(array("q", keys), array("I", numbers), array("f", values), lengths, mask)


def _weigh(fields: Fields) -> tuple[dict[str, float], int]:
    weights: dict[str, float] = defaultdict(float)
    length = 0
    for word, count in Counter(WORD.findall(fields.body)).items():
        for term in terms(word):
            weights[term] += count
            length += count
    for text, worth in ((fields.heading, OWN_HEADING), (fields.around, SURROUNDINGS)):
        for term in {term for word in WORD.findall(text) for term in terms(word)}:
            weights[term] += worth
    return weights, length


def rank(query: Query, files: Sequence[Postings], limit: int) -> Ranking:
    """The best sections first; equal scores keep the order of files and sections."""
    firsts = [0, *accumulate(len(file.lengths) for file in files)]
    total = firsts[-1]
    average = sum(sum(file.lengths) for file in files) / total if total else 1.0
    scores = [0.0] * total
    matched = [0] * total
    base, slope = SATURATION * (1 - LENGTH_SHARE), SATURATION * LENGTH_SHARE / (average or 1.0)
    weights: dict[str, float] = {}
    for term in (*query.words, *(query.wholes - query.words.keys())):
        found = _find(key_of(term), files, firsts)
        rarity = math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5))
        weights[term] = worth = rarity if term in query.words else rarity * WHOLE_IDENTIFIER
        counts = int(term in query.words)
        for place, weight, length in found:
            scores[place] += worth * weight / (weight + base + slope * length)
            matched[place] += counts
    return _best(query, scores, matched, weights, firsts, limit)


def _find(key: int, files: Sequence[Postings], firsts: Sequence[int]) -> list[tuple[int, float, int]]:
    """Where a term stands: the section's number over all files, the term's weight there, the section's length."""
    found: list[tuple[int, float, int]] = []
    bit = 1 << key % MASK_BITS
    for first, file in zip(firsts, files, strict=False):
        if not file.mask & bit:
            continue
        keys = file.keys
        index = bisect_left(keys, key)
        while index < len(keys) and keys[index] == key:
            section = file.sections[index]
            found.append((first + section, file.weights[index], file.lengths[section]))
            index += 1
    return found


def _best(
    query: Query,
    scores: Sequence[float],
    matched: Sequence[int],
    weights: dict[str, float],
    firsts: Sequence[int],
    limit: int,
) -> Ranking:
    needed = max(1, min(MOST_MATCHES_ASKED, math.ceil(len(query.words) / WORDS_PER_MATCH)))
    ceiling = sum(weights[term] for term in query.words)
    # Covering more of the question beats repeating one word of it.
    kept = [
        (-score * (1 + count / len(query.words)) / 2, place)
        for place, (score, count) in enumerate(zip(scores, matched, strict=True))
        if count >= needed
    ]
    hits: list[Hit] = []
    for score, place in heapq.nsmallest(limit, kept):
        file = bisect_right(firsts, place) - 1
        hits.append(Hit(file, place - firsts[file], -score, min(1.0, -score / ceiling)))
    return Ranking(tuple(hits), len(kept), weights)
