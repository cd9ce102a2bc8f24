"""Words the documents do not know, when one they know well is a slip of the keyboard away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanemesh.v1.lane_pb2 import SUGGESTION_TYPE_REFINE

from services.preflight import english
from services.preflight.advice import Advice
from services.preflight.forms import forms, halves, same_word
from services.preflight.question import Question, Word
from services.preflight.slips import one_slip, two_slips
from services.preflight.vocabulary import Vocabulary

ONE_SLIP_FROM = 5
TWO_SLIPS_FROM = 9
LONGEST = 32
# Words looked up, and words corrected; a query of more unknown words is not English, or not prose.
MOST_SUSPECTS = 24
MOST_CORRECTIONS = 3
# A correction stands in so many documents, and in so many times more than the next best.
LEAST_DOCUMENTS = 3
CLEARLY = 5


async def advise(question: Question, vocabulary: Vocabulary) -> Sequence[Advice]:
    """Proposes the question with its misspelt words corrected."""
    suspects = _suspects(question)
    if not suspects:
        return ()
    unknown = await _unknown(suspects, vocabulary)
    if not unknown or len(unknown) > MOST_CORRECTIONS:
        return ()
    corrected = [(word, right) for word in unknown if (right := await _correction(word.plain, vocabulary))]
    return [_advice(question, corrected)] if corrected else ()


def _suspects(question: Question) -> list[Word]:
    """Words in lower case that are neither names nor code nor common English."""
    found = [
        word
        for word in question.words
        if ONE_SLIP_FROM <= len(word.plain) <= LONGEST
        and word.text.isascii()
        and word.text.isalpha()
        and word.text.islower()
        and not forms(word.plain) & english.WORDS
    ]
    return found if len(found) <= MOST_SUSPECTS else []


async def _unknown(suspects: Sequence[Word], vocabulary: Vocabulary) -> list[Word]:
    wanted = {form for word in suspects for form in forms(word.plain)}
    wanted |= {half for word in suspects for pair in halves(word.plain) for half in pair}
    known = await vocabulary.counts(wanted)
    return [word for word in suspects if not _is_known(word.plain, known)]


def _is_known(word: str, known: Mapping[str, int]) -> bool:
    if any(form in known for form in forms(word)):
        return True
    return any(all(half in known or half in english.WORDS for half in pair) for pair in halves(word))


async def _correction(word: str, vocabulary: Vocabulary) -> str:
    """The one word that was meant; empty when none is near, or several are."""
    near = await vocabulary.counts(slip for slip in one_slip(word) if len(slip) >= ONE_SLIP_FROM)
    if not near and len(word) >= TWO_SLIPS_FROM:
        begun = await vocabulary.beginning(word[:2], len(word) - 2, len(word) + 2, LEAST_DOCUMENTS)
        near = {candidate: count for candidate, count in begun.items() if two_slips(word, candidate)}
    ranked = sorted(near.items(), key=lambda pair: (-pair[1], pair[0]))
    if not ranked or ranked[0][1] < LEAST_DOCUMENTS or same_word(word, ranked[0][0]):
        return ""
    # Another form of the best is no rival: receptor and receptors are one answer.
    rivals = (count for candidate, count in ranked[1:] if not same_word(candidate, ranked[0][0]))
    return ranked[0][0] if ranked[0][1] >= CLEARLY * next(rivals, 0) else ""


def _advice(question: Question, corrected: Sequence[tuple[Word, str]]) -> Advice:
    text = question.text
    for word, right in reversed(corrected):
        text = f"{text[: word.start]}{right}{text[word.start + len(word.plain) :]}"
    meant = ", ".join(dict.fromkeys(f"“{right}”" for _, right in corrected))
    written = ", ".join(dict.fromkeys(f"“{word.plain}”" for word, _ in corrected))
    reason = f"No document holds {written}; many hold {meant}."
    return Advice(SUGGESTION_TYPE_REFINE, f"Did you mean {meant}?", text, 0.9, reason)
