"""All personal data of a query, and the query without it."""

from __future__ import annotations

from collections.abc import Sequence

from services.preflight.personal import address, card, email, iban, national, phone, secret
from services.preflight.personal.item import Detector, Item

# The surest first: where two kinds overlap, the earlier one keeps the place.
DETECTORS: Sequence[Detector] = (
    secret.find,
    email.find,
    iban.find,
    card.find,
    national.find,
    address.find,
    phone.find,
)


def find(text: str) -> list[Item]:
    """What was found, from left to right, without overlap."""
    found: list[Item] = []
    taken = bytearray(len(text))
    for detect in DETECTORS:
        for item in detect(text):
            if not any(taken[item.start : item.end]):
                taken[item.start : item.end] = b"x" * (item.end - item.start)
                found.append(item)
    return sorted(found, key=lambda item: item.start)


def redact(text: str, items: Sequence[Item]) -> str:
    """The text with a word for its kind in place of each item, and of every other place where the same text stands."""
    parts: list[str] = []
    past = 0
    for item in items:
        parts += (text[past : item.start], item.redacted)
        past = item.end
    redacted = "".join((*parts, text[past:]))
    for written, marker in {text[item.start : item.end]: item.redacted for item in items}.items():
        redacted = redacted.replace(written, marker)
    return redacted
