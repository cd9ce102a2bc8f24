"""How far a passage supports a sentence, by its words: coverage, order, and no contradiction in the facts."""

from __future__ import annotations

from collections.abc import Set
from itertools import pairwise

from fusion_service.passages import Passage, Statement
from fusion_service.tokens import fold, normal, number, words
from fusion_service.words import NEGATIONS, NUMBER_WORDS, OPPOSITES, STOP_WORDS, UNITS

# Below this a passage does not support a sentence.
THRESHOLD = 0.7
# The same words in another order may say the opposite: who calls whom.
_ORDER_SHARE = 0.5
# How likely a shared word is chance: two shared words prove nothing, three may, six do.
_CHANCE = 0.6
# A name that only the context says counts half.
_CONTEXT_SHARE = 0.5
# A contradiction leaves too little for any citation at the threshold.
_CONTRADICTED = 0.5
# How many words after a negation it denies.
_NEGATION_REACH = 2


def similarity(
    sentence: Statement, passage: Statement, context: frozenset[str] = frozenset(), least: float = 0.0
) -> float:
    """0..1. Coverage of the sentence's words, lowered for lost order, very few words and contradicting facts.

    `context` holds words that the passage may take for granted: title, heading, the sentence before. A value that
    falls below `least` is not lowered further: the dear checks are spent on what may pass.
    """
    shared = sentence.bag & passage.bag
    if not shared:
        return 0.0
    value = (len(shared) + _granted(sentence, passage, context)) / len(sentence.bag) * (1.0 - _CHANCE ** len(shared))
    if value >= least:
        value *= 1.0 - _ORDER_SHARE + _ORDER_SHARE * _kept_order(sentence, passage, shared)
    return value * _CONTRADICTED if value >= least and contradicts(sentence, passage, context) else value


def exact(sentence: Statement, passage: Passage) -> bool:
    """The same text but for white space."""
    return sentence.stems == passage.stems and sentence.text.split() == passage.text.split()


def contradicts(sentence: Statement, passage: Statement, context: frozenset[str]) -> bool:
    """Whether numbers, names, negation or an opposite word keep the passage from saying what the sentence says."""
    if not figures(sentence.text) <= figures(passage.text):
        return True
    known = passage.bag | context
    if not _names(sentence, passage) <= known:
        return True
    if (denied(sentence.text) ^ denied(passage.text)) & sentence.bag & passage.bag:
        return True
    return _opposed(sentence.text, passage.text)


def _granted(sentence: Statement, passage: Statement, context: frozenset[str]) -> float:
    """Credit for names the passage leaves to its context, as "it" does; other words it must say itself."""
    left = (sentence.bag - passage.bag) & context
    return len(left & _names(sentence, passage)) * _CONTEXT_SHARE if left else 0.0


def _kept_order(sentence: Statement, passage: Statement, shared: Set[str]) -> float:
    """Share of neighbouring shared words that stand in the same order in both; a passive turns them round rightly."""
    if len(shared) < 2 or (" by " in sentence.text) != (" by " in passage.text):
        return 1.0
    places: dict[str, int] = {}
    for place, stem in enumerate(passage.stems):
        places.setdefault(stem, place)
    order = [places[stem] for stem in dict.fromkeys(sentence.stems) if stem in shared]
    kept = sum(one < other for one, other in pairwise(order))
    return kept / (len(order) - 1)


def figures(text: str) -> set[tuple[str, str]]:
    """Every number with its unit, if any: 30 min is not 30 s."""
    found = set()
    written = words(text)
    for place, word in enumerate(written):
        bare = fold(word)
        if bare in NUMBER_WORDS:
            value, unit = NUMBER_WORDS[bare], ""
        elif bare[:1].isdigit():
            digits = bare.rstrip("abcdefghijklmnopqrstuvwxyzµμ")
            value, unit = number(digits), bare[len(digits) :]
        else:
            continue
        sign = next((mark for mark in "%$€£" if mark in word), "")
        following = fold(written[place + 1]) if place + 1 < len(written) and word[-1] not in ".," else ""
        found.add((value, UNITS.get(unit) or UNITS.get(sign) or UNITS.get(following, unit)))
    return found


def _names(sentence: Statement, passage: Statement) -> set[str]:
    """Words written like names. The first word counts only where the passage opens with a name-like word too."""
    written = words(sentence.text)
    names = {normal(word) for word in written[1:] if _is_name(word)}
    if written and _opens_with_subject(sentence.text) and _opens_with_subject(passage.text):
        names.add(normal(written[0]))
    return names - {""}


def _is_name(word: str) -> bool:
    return not word.islower() and any(map(str.isupper, word)) and fold(word) not in STOP_WORDS


def _opens_with_subject(text: str) -> bool:
    first = next(iter(words(text[:100])), "")
    return first[:1].isupper() and fold(first) not in STOP_WORDS


def denied(text: str) -> set[str]:
    """The words right after a negation."""
    found: set[str] = set()
    reach = 0
    for word in words(text):
        bare = fold(word)
        if bare in NEGATIONS or bare.endswith("n't"):
            reach = _NEGATION_REACH
        elif reach and (stem := normal(word)):
            found.add(stem)
            reach -= 1
    return found


def _opposed(one: str, other: str) -> bool:
    ours, theirs = _plain(one), _plain(other)
    return any(OPPOSITES[word] & theirs and word not in theirs for word in ours & OPPOSITES.keys())


def _plain(text: str) -> set[str]:
    """Folded words, and each without a plain ending, so that "increased" meets "increase"."""
    plain = set(map(fold, words(text)))
    return plain | {word.removesuffix(end) for word in plain for end in ("s", "d", "ed")}
