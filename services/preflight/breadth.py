"""Questions too broad to answer: a single word, or everything about something."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanemesh.v1.lane_pb2 import SUGGESTION_TYPE_REFINE

from services.preflight.advice import Advice
from services.preflight.question import Question

_EVERYTHING = re.compile(
    r"(?:(?:please|can you|could you|i want you to|i want to|i need to|i'd like to) )*"
    r"(?:(?:tell me|explain(?: to me)?|describe|show me|give me|write(?: me)?|teach me|know|learn|find|list) )?"
    r"(?:everything|anything|all(?: the)?(?: (?:information|info|details|facts|knowledge))?)"
    r"(?: (?:there is|that exists|you know|you have|you can|to know|known))* (?:about|on|regarding|of) (?P<topic>.+)"
)
_ABOUT = re.compile(
    r"(?:(?:please|can you|could you|i want to|i need to|i'd like to) )*"
    r"(?:tell me(?: more)?|talk|(?:some |more |give me |find )*(?:info|information|details|facts)|learn"
    r"|know(?: more)?|teach me"
    r"|what do you know|what about|something) (?:about|on|regarding) (?P<topic>.+)"
)
# A topic of more words, or one with a clause in it, says what is wanted of it.
MOST_TOPIC_WORDS = 3
_SPECIFIC = re.compile(
    r"\b(?:how|why|when|where|what|which|who|if|whether|in|of|for|from|with|by|between|on|at|to|vs|and|or)\b"
)

# Worded so that they fit one and many, people and things.
THING = ("Definition of {}", "Examples of {}", "Common problems with {}")
NAME = ("Key facts about {}", "History of {}", "Significance of {}")


def advise(question: Question) -> Sequence[Advice]:
    """Proposes aspects of the topic."""
    if len(question.words) == 1:
        return _single(question)
    text = question.text.strip(" .!?")
    if found := _EVERYTHING.fullmatch(text.lower()):
        return _aspects(question, text[found.start("topic") :], 0.75, "No search can return everything about a topic.")
    found = _ABOUT.fullmatch(text.lower())
    if found and len(found["topic"].split()) <= MOST_TOPIC_WORDS and not _SPECIFIC.search(found["topic"]):
        return _aspects(question, text[found.start("topic") :], 0.6, "The question names a topic but no aspect of it.")
    return ()


def _single(question: Question) -> Sequence[Advice]:
    word = question.words[0]
    whole = question.text.strip(" .!?\"'") == word.text
    # The rules know English; an identifier is as precise as a query can be.
    if not whole or word.is_code_like or not word.text.isascii() or not word.text.isalpha() or word.is_function:
        return ()
    return _aspects(question, word.text, 0.65, "A single word leaves open what about it is wanted.")


def _aspects(question: Question, topic: str, confidence: float, reason: str) -> Sequence[Advice]:
    named = any(letter.isupper() for letter in topic) and not question.words[-1].is_code_like
    forms = NAME if named else THING
    return [
        Advice(SUGGESTION_TYPE_REFINE, form.format(topic), form.format(topic), confidence - place / 100, reason)
        for place, form in enumerate(forms)
    ]
