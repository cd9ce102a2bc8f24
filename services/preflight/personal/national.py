"""National identity numbers, each by its published format and, where there is one, its check digit.

A bare run of digits counts only with a check digit and a date inside, or with its name before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from services.preflight.personal.checks import luhn, verhoeff, weighted
from services.preflight.personal.item import Item, named_before

_DATE = r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_SPANISH = "TRWAGMYFPDXBNJZSQVHLCKE"
# Values of 0-9 and A-Z at the odd places of an Italian code; at the even places they count from 0.
_ITALIAN_ODD = (
    *(1, 0, 5, 7, 9, 13, 15, 17, 19, 21),
    *(1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
)


@dataclass(frozen=True, slots=True)
class Format:
    """How the numbers of one country are written and checked; `name` must stand before those that need it."""

    pattern: re.Pattern[str]
    sound: Callable[[str], bool]
    name: re.Pattern[str] | None = None


def _spanish(number: str) -> bool:
    digits = number[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return number[-1] == _SPANISH[int(digits) % 23]


def _french(number: str) -> bool:
    body = number[:13].replace("2A", "19").replace("2B", "18")
    return (97 - int(body) % 97) == int(number[13:])


def _italian(number: str) -> bool:
    total = sum(
        (int(character, 36) - 10 * character.isalpha()) if place % 2 else _ITALIAN_ODD[int(character, 36)]
        for place, character in enumerate(number[:15])
    )
    return number[15] == chr(ord("A") + total % 26)


def _brazilian(number: str) -> bool:
    def check(length: int) -> int:
        return weighted(number[:length], tuple(range(length + 1, 1, -1))) * 10 % 11 % 10

    return len(set(number)) > 1 and check(9) == int(number[9]) and check(10) == int(number[10])


def _polish(number: str) -> bool:
    return -weighted(number[:10], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10 == int(number[10])


def _dutch(number: str) -> bool:
    return int(number) > 0 and weighted(number, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _always(_number: str) -> bool:
    return True


def _format(pattern: str, sound: Callable[[str], bool] = _always, name: str = "") -> Format:
    bounded = re.compile(rf"(?<![\w.-])(?:{pattern})(?![\w-]|\.\d)", re.I)
    return Format(bounded, sound, re.compile(rf"\b(?:{name})\b", re.I) if name else None)


_NATIONAL_INSURANCE = r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]{0}\d\d{0}\d\d{0}\d\d{0}[A-D]"
_SOCIAL_SECURITY = r"(?!000|666|9\d\d)\d{3}{0}(?!00)\d\d{0}(?!0000)\d{4}"

FORMATS = (
    # United States, Social Security: areas 000, 666 and 900 on, group 00 and serial 0000 are never issued.
    _format(_SOCIAL_SECURITY.replace("{0}", "-")),
    _format(_SOCIAL_SECURITY.replace("{0}", "[ ]?"), name=r"ssn|social security(?: number| no)?"),
    # United Kingdom, National Insurance: written together it looks like many a product code.
    _format(_NATIONAL_INSURANCE.replace("{0}", " ")),
    _format(_NATIONAL_INSURANCE.replace("{0}", " ?"), name=r"ni|nino|national insurance(?: number| no)?"),
    # Canada, Social Insurance.
    _format(r"\d{3}[ -]?\d{3}[ -]?\d{3}", luhn, name=r"sin|social insurance(?: number| no)?"),
    # Spain, DNI and NIE.
    _format(r"(?:\d{8}|[XYZ]-?\d{7})-?[A-HJ-NP-TV-Z]", _spanish),
    # France, INSEE number with its key.
    _format(r"[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d", _french),
    # Italy, codice fiscale.
    _format(r"[A-Z]{6}\d\d[A-EHLMPRST](?:[04][1-9]|[1256]\d|[37][01])[A-Z]\d{3}[A-Z]", _italian),
    # Brazil, CPF.
    _format(r"\d{3}\.\d{3}\.\d{3}-\d\d", _brazilian),
    _format(r"\d{11}", _brazilian, name="cpf"),
    # India, Aadhaar and PAN.
    _format(r"[2-9]\d{3} \d{4} \d{4}", verhoeff),
    _format(r"[2-9]\d{11}", verhoeff, name="aadhaar|aadhar"),
    _format(r"[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]", name="pan"),
    # Sweden, personnummer: the century is not part of the check.
    _format(rf"(?:19|20)?\d\d{_DATE}[-+]\d{{4}}", lambda number: luhn(number[-10:])),
    # Poland, PESEL: months run to 92 because they carry the century.
    _format(rf"\d\d[02468]?{_DATE}\d{{5}}(?<=\d{{11}})", _polish, name="pesel"),
    # The Netherlands, BSN.
    _format(r"\d{9}", _dutch, name="bsn|burgerservicenummer"),
)


def find(text: str) -> Iterator[Item]:
    """National numbers of every format."""
    for form in FORMATS:
        for match in form.pattern.finditer(text):
            named = form.name is None or named_before(text, match.start(), form.name)
            if named and form.sound(re.sub(r"[\s.+-]", "", match[0]).upper()):
                yield Item("national_id", match.start(), match.end())
