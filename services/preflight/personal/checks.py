"""Check digits: what tells an identity number from any other number of its length."""

from __future__ import annotations

# Verhoeff's tables: multiplication in the dihedral group of ten elements, and the permutation of each position.
_GROUP = (
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
)
_PERMUTED = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)


def luhn(digits: str) -> bool:
    """ISO/IEC 7812: cards, and several national numbers."""
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


def mod97(text: str) -> bool:
    """ISO 7064 as IBANs use it: the first four characters go last, letters count from 10."""
    moved = text[4:] + text[:4]
    return int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


def verhoeff(digits: str) -> bool:
    """Verhoeff's check, which Aadhaar uses."""
    state = 0
    for place, digit in enumerate(reversed(digits)):
        state = int(_GROUP[state][int(_PERMUTED[place % 8][int(digit)])])
    return state == 0


def weighted(digits: str, weights: tuple[int, ...]) -> int:
    """The sum of each digit times its weight."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))
