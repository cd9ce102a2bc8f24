"""Ambiguity by reference: a pronoun nobody can resolve, or "the service" without saying which."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanemesh.v1.lane_pb2 import SUGGESTION_TYPE_DISAMBIGUATE

from services.preflight.advice import Advice
from services.preflight.question import Question, Word, tidy

PLACEHOLDER = "[name]"
PERSONAL = frozenset({"it", "its", "he", "him", "his", "she", "her", "they", "them", "their"})
DEMONSTRATIVE = frozenset({"this", "that", "these", "those"})
POSSESSIVE = frozenset({"its", "his", "their"})
DETERMINERS = frozenset({"the", "this", "that", "these", "those", "our", "my", "your"})

# "It" that stands for nothing: is it true that, how long does it take to, when it comes to.
_EXPLETIVE = re.compile(
    r"\b(?:is|was|are|were|would|will|could|can|might|may|does|did|do|has)(?:n't)? (?:it|they) .{0,60}?\b(?:to"
    r"|that|for|if|when) \w"
    r"|\b(?:does|did|will|would|can) it (?:take|cost|mean|matter|make sense|rain|snow)\b"
    r"|\bit (?:comes to|is (?:\w+ )?(?:true|possible|said|known|safe|better|worth|important|necessary)"
    r"|rains?|snows?|takes?)\b"
    r"|\bit'?s (?:\w+ )?(?:true|possible|said|known|safe|better|worth|important|necessary)\b"
    r"|\b(?:they|people) (?:call|say)\b|\bmakes? it\b|\bis it (?:true|possible|safe|legal|worth|better|ok"
    r"|okay|bad|good|normal)\b"
)
# What may follow a demonstrative that stands alone.
_AFTER_DEMONSTRATIVE_WORDS = """
    work works working mean means happen happens happening do does go look called possible supported better faster
    slower safe true correct right wrong needed used failing broken down slow about for here there not
"""
_AFTER_DEMONSTRATIVE = frozenset(_AFTER_DEMONSTRATIVE_WORDS.split())
_GENERIC_NOUNS_WORDS = """
    service services system app application server servers database table tables function method class file files
    project code script module package library tool thing things stuff issue problem error bug feature team company
    product person guy man woman place city country paper article study document report book movie film song game
    event incident price meeting test tests build deployment job task process results policy law drug disease
    experiment model algorithm author website page endpoint queue cluster pipeline
"""
GENERIC_NOUNS = frozenset(_GENERIC_NOUNS_WORDS.split())
# Words that tell nothing about which one is meant.
_LIGHT_WORDS = """
    old tall far good bad work works working fail fails failing failed down slow slower fast break breaks broken
    broke happen happened happening start starts started stop stops stopped run runs running crash crashed crashes
    crashing fix fixed use used uses using done go gone goes change changed changes cause caused causes say says
    said mean means like make makes made get gets got handle handles restart restarted deploy deployed released
    founded located called written wrong again now still today yesterday time long big much many unavailable
    unreachable offline available main current owner owns responsible status about
"""
LIGHT = frozenset(_LIGHT_WORDS.split())


def advise(question: Question) -> Sequence[Advice]:
    """Asks for the name behind a word that only points."""
    if question.has_context:
        return ()
    pointing = _pronoun(question) or _nameless(question)
    if pointing is None:
        return ()
    word, replacement = pointing
    refined = tidy(f"{question.text[: word.start]}{replacement}{question.text[word.end :]}")
    title = f"Say which {word.text}" if word.plain in GENERIC_NOUNS else f"Say what “{word.text}” refers to"
    reason = f"Nothing in the question says what “{word.text}” is; searching needs its name."
    return [Advice(SUGGESTION_TYPE_DISAMBIGUATE, title, refined, 0.75, reason)]


def _pronoun(question: Question) -> tuple[Word, str] | None:
    if _EXPLETIVE.search(question.text.lower()):
        return None
    for place, word in enumerate(question.words):
        bare = word.text.lower()
        points = bare in PERSONAL or (bare in DEMONSTRATIVE and _stands_alone(question, place))
        if points and not _has_referent(question, place):
            owns = bare in POSSESSIVE or (bare == "her" and place + 1 < len(question.words))
            return word, f"{PLACEHOLDER}'s" if owns else PLACEHOLDER
    return None


def _stands_alone(question: Question, place: int) -> bool:
    """Whether a demonstrative is a pronoun here, not part of "this pattern" or "the claim that"."""
    following = [word.plain for word in question.words[place + 1 :]]
    return all(word in _AFTER_DEMONSTRATIVE or word.endswith(("ing", "ed")) for word in following)


def _has_referent(question: Question, place: int) -> bool:
    """Whether something before the pronoun can be what it stands for; the verb it belongs to cannot."""
    before = question.words[:place]
    if before and not before[-1].is_function:
        before = before[:-1]
    named = any(question.is_name(position) for position in range(place + 1, len(question.words)))
    # "Does it support Kafka" leaves it open what supports Kafka; further in, a name may be what is meant.
    return any(not word.is_function and word.plain not in LIGHT for word in before) or (named and place > 2)


def _nameless(question: Question) -> tuple[Word, str] | None:
    """A general noun after an article, when every other word is as general."""
    content = question.content
    general = all(word.plain in GENERIC_NOUNS or word.plain in LIGHT for word in content)
    if not general or any(question.is_name(place) for place in range(len(question.words))):
        return None
    for before, word in zip(question.words, question.words[1:], strict=False):
        if before.plain in DETERMINERS and word.plain in GENERIC_NOUNS:
            return word, f"{PLACEHOLDER} {word.text}"
    return None
