"""Bank accounts as IBANs: the country's length and the check digits of ISO 13616."""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.preflight.personal.checks import mod97
from services.preflight.personal.item import Item

_LENGTHS = """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24
    FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21
    LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22
    RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
"""
LENGTHS = {row[:2]: int(row[2:]) for row in _LENGTHS.split()}

_START = re.compile(r"(?<![^\W_])[A-Za-z]{2}\d{2}(?=[ -]?[0-9A-Za-z]{4})")
_CHARACTER = re.compile(r"[ -]?([0-9A-Za-z])")


def find(text: str) -> Iterator[Item]:
    """IBANs, written together or in groups."""
    past = 0
    for match in _START.finditer(text):
        length = LENGTHS.get(match[0][:2].upper())
        if length is None or match.start() < past:
            continue
        end, account = _take(text, match.start(), length)
        if len(account) == length and not text[end : end + 1].isalnum() and mod97(account):
            past = end
            yield Item("iban", match.start(), end)


def _take(text: str, start: int, length: int) -> tuple[int, str]:
    """The next `length` letters and digits, with single spaces between them, and where they end."""
    characters = ""
    while len(characters) < length and (match := _CHARACTER.match(text, start)):
        characters += match[1]
        start = match.end()
    return start, characters
