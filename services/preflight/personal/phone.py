"""Telephone numbers: international, in a national grouping, or named as such. Other numbers look alike and are not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.preflight.personal.item import Item, named_before

_GAP = r"[ .\-/\u2010-\u2013\u00a0]"
# Separators stand between groups, one at a time; brackets around the area code.
_INTERNATIONAL = rf"(?:\+|\b00(?=[1-9]))[1-9]\d{{0,2}}(?:{_GAP}?\(0\))?(?:{_GAP}?(?:\(\d{{1,5}}\)|\d{{1,5}})){{1,6}}"
_NORTH_AMERICAN = r"(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}([ .-]))\d{3}(?(1)\1|[ .-])\d{4}"
_AREA = r"(?:\(0[1-9]\d{0,3}\)|0[1-9]\d{0,3})"
_WITH_TRUNK_PREFIX = rf"{_AREA}(?:[ /-]\d{{2,4}}){{2,4}}|{_AREA}[ /-]\d{{5,8}}"
_ANY = r"\d{2,5}(?:[ .-]?\d{2,5}){1,4}"

# Neither the rest of a longer number nor a quantity.
_BEFORE = r"(?<![\w.,#/+-])(?<!\d[ .-])"
_AFTER = r"(?![\w%-]|[.,/]\d| ?(?:mg|ml|g|kg|km|m|cm|mm|ms|s|hz|kb|mb|gb|bp|usd|eur|units?)\b)"
_SHAPED = re.compile(rf"{_BEFORE}(?:{_INTERNATIONAL}|{_NORTH_AMERICAN}|{_WITH_TRUNK_PREFIX}){_AFTER}")
_CANDIDATE = re.compile(rf"{_BEFORE}{_ANY}{_AFTER}")
_CALLED = re.compile(
    r"\b(?:call|calls|called|dial|phone|telephone|tel|mobile|cell|cellphone|whatsapp|sms|fax|ring|text me)\b"
    r"(?:\s+(?:me|us|him|her|them|number|no|is|was|are|at|on|to|my|his|their))*\W*$",
    re.I,
)
_OTHER_NUMBER = re.compile(
    r"\b(?:order|invoice|ticket|case|issue|tracking|parcel|shipment|serial|sku|isbn|issn|imei|ean|gtin|doi|rfc|part|model"
    r"|version|build|release|revision|commit|hash|id|ref|reference|error|code|account|port|lines?|pages?|years?|between"
    r"|from|range)"
    r"(?:\s+(?:number|no|nr|id|code|is|was|to))*[\s:#.]*$",
    re.I,
)
_DATES = re.compile(
    r"(?:19|20)\d\d[ ./-](?:0?[1-9]|1[0-2])[ ./-](?:0?[1-9]|[12]\d|3[01])(?:[ .-]\d\d?)?"
    r"|(?:0?[1-9]|[12]\d|3[01])[ ./-](?:0?[1-9]|[12]\d|3[01])[ ./-](?:19|20)?\d\d(?:[ .-]\d\d?)?"
    r"|(?:19|20)\d\d\W+(?:19|20)\d\d"
)
FEWEST, MOST = 8, 15
FEWEST_WHEN_NAMED = 7


def find(text: str) -> Iterator[Item]:
    """Numbers by their shape, then by what is said before them."""
    for match in _SHAPED.finditer(text):
        if FEWEST <= _digits(match[0]) <= MOST and not _is_other(text, match):
            yield Item("phone", match.start(), match.end())
    for match in _CANDIDATE.finditer(text):
        named = FEWEST_WHEN_NAMED <= _digits(match[0]) <= MOST and named_before(text, match.start(), _CALLED)
        if named and not _DATES.fullmatch(match[0]):
            yield Item("phone", match.start(), match.end())


def _digits(written: str) -> int:
    return sum(map(str.isdigit, written))


def _is_other(text: str, match: re.Match[str]) -> bool:
    # Nothing but a telephone number is written with a plus and its country.
    if match[0].startswith("+"):
        return False
    return bool(_DATES.fullmatch(match[0])) or named_before(text, match.start(), _OTHER_NUMBER)
