"""The model's advice: asked with a sanitised question, read with the same limits as the rules' own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanemesh.v1 import lane_pb2

from services.model.chat import ChatModel
from services.preflight.advice import Advice
from services.preflight.chips import OFFERS
from services.preflight.prompt import MOST_TOKENS, messages
from services.preflight.question import Question
from services.runtime.errors import BadReply

# The model proposes no sanitising: it never sees what would have to be removed.
TYPES = {
    "refine": lane_pb2.SUGGESTION_TYPE_REFINE,
    "disambiguate": lane_pb2.SUGGESTION_TYPE_DISAMBIGUATE,
    "decompose": lane_pb2.SUGGESTION_TYPE_DECOMPOSE,
    "constrain": lane_pb2.SUGGESTION_TYPE_CONSTRAIN,
}
LONGEST_QUERY = 1_000
# Entries of a reply that are looked at; the best come first.
MOST_READ = 16


@dataclass(frozen=True, slots=True)
class Advised:
    """What a model advises: suggestions, and a value for some constraints."""

    advice: Sequence[Advice]
    constraints: Mapping[str, str]


async def ask(model: ChatModel, question: Question) -> Advised:
    """The model's advice; services.runtime.errors when it gives none that can be used."""
    completion = await model.complete(messages(question), max_tokens=MOST_TOKENS, as_json=True)
    if completion.cut:
        raise BadReply("the model's advice was cut off")
    return read(completion.text, question)


def read(text: str, question: Question) -> Advised:
    """The reply as advice. An entry outside the limits is dropped; a reply of another shape is a BadReply."""
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError):
        raise BadReply("the model's advice is not JSON") from None
    suggestions = reply.get("suggestions") if isinstance(reply, dict) else None
    if not isinstance(suggestions, list):
        raise BadReply("the model's advice holds no list of suggestions")
    advice = [each for entry in suggestions[:MOST_READ] if (each := _advice(entry, question)) is not None]
    return Advised(advice, _constraints(reply.get("constraints")))


def _advice(entry: Any, question: Question) -> Advice | None:
    if not isinstance(entry, dict):
        return None
    kind = TYPES.get(_text(entry, "type"))
    title, refined, reason = (_text(entry, name) for name in ("title", "refined_query", "reason"))
    confidence = entry.get("confidence")
    if kind is None or not (title and refined and reason) or len(refined) > LONGEST_QUERY:
        return None
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return None
    return Advice(kind, title, refined, float(confidence), reason) if refined != question.text else None


def _text(entry: Mapping[str, Any], name: str) -> str:
    """The field as one line; empty unless it is text the wire can carry, for JSON may hold halves of characters."""
    value = entry.get(name)
    if not isinstance(value, str) or any("\ud800" <= character <= "\udfff" for character in value):
        return ""
    return " ".join(value.split())


def _constraints(proposed: Any) -> dict[str, str]:
    if not isinstance(proposed, dict):
        return {}
    # JSON writes a flag without quotes.
    spelled = {name: str(value).lower() for name, value in proposed.items() if isinstance(value, str | bool)}
    return {
        offer.constraint: spelled[offer.constraint]
        for offer in OFFERS
        if spelled.get(offer.constraint) in offer.options
    }
