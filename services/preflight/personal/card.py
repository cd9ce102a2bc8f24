"""Payment card numbers: an issuer's prefix, its length, the printed grouping and the check digit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.preflight.personal.checks import luhn
from services.preflight.personal.item import Item, named_before

_NUMBER = re.compile(r"(?<![\w.+-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)")
# Issuers' prefixes with the lengths of their numbers.
_ISSUERS = (
    (re.compile(r"4"), {13, 16, 19}),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), {16}),
    (re.compile(r"3[47]"), {15}),
    (re.compile(r"30[0-5]|36|3[89]"), {14}),
    (re.compile(r"6011|64[4-9]|65"), {16, 19}),
    (re.compile(r"35(?:2[89]|[3-8])"), {16}),
    (re.compile(r"62"), {16, 17, 18, 19}),
)
# Groups as cards print them; the last of a long number may be short.
_GROUPED = re.compile(r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{4}([ -])\d{6}\2\d{4,5}")
_OTHER_NUMBER = re.compile(
    r"\b(?:order|tracking|invoice|isbn|imei|ticket|case|parcel|shipment|serial|sku|gtin|ean)\b", re.I
)


def find(text: str) -> Iterator[Item]:
    """Card numbers; a number that is named otherwise is not one."""
    for match in _NUMBER.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        grouped = digits == match[0] or _GROUPED.fullmatch(match[0])
        if grouped and _issued(digits) and luhn(digits) and not named_before(text, match.start(), _OTHER_NUMBER):
            yield Item("credit_card", match.start(), match.end())


def _issued(digits: str) -> bool:
    if len(set(digits)) == 1:
        return False
    return any(prefix.match(digits) and len(digits) in lengths for prefix, lengths in _ISSUERS)
