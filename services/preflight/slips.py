"""Words a slip or two away: the ways in which people mistype, not every edit, for many an edit is another word."""

from __future__ import annotations

from itertools import pairwise
from string import ascii_lowercase

VOWELS = "aeiouy"
# Neighbours on the keyboard, row by row; letters above and below each other are read off the columns.
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# Letters taken for each other by their sound.
_ALIKE = ("aeiouy", "ck", "cs", "sz", "fv", "mn", "dt", "bp", "gj", "iy", "kq", "vw")


def _confusable() -> dict[str, str]:
    groups = [row[place : place + 2] for row in _ROWS for place in range(len(row) - 1)]
    for upper, lower in pairwise(_ROWS):
        groups += [upper[place] + lower[place] for place in range(len(lower))]
        groups += [upper[place + 1] + lower[place] for place in range(len(lower))]
    groups += _ALIKE
    return {
        letter: "".join(sorted({other for group in groups if letter in group for other in group} - {letter}))
        for letter in ascii_lowercase
    }


CONFUSABLE = _confusable()


def one_slip(word: str) -> set[str]:
    """Every word a letter too many, too few, swapped or mistaken away; the first letter stays."""
    splits = [(word[:place], word[place:]) for place in range(1, len(word) + 1)]
    near = {head + tail[1:] for head, tail in splits if tail}
    near |= {head + letter + tail for head, tail in splits for letter in ascii_lowercase}
    near |= {head + letter + tail[1:] for head, tail in splits if tail for letter in CONFUSABLE.get(tail[0], "")}
    near |= {word[:place] + word[place + 1] + word[place] + word[place + 2 :] for place in range(1, len(word) - 1)}
    return near - {word}


def two_slips(left: str, right: str) -> bool:
    """Whether at most two edits lie between them and none touches the consonants but to double or to swap them."""
    return sorted(_skeleton(left)) == sorted(_skeleton(right)) and _distance(left, right) <= 2


def _skeleton(word: str) -> str:
    """The consonants, doubled ones once."""
    return "".join(letter for before, letter in pairwise(f" {word}") if letter not in VOWELS and letter != before)


def _distance(left: str, right: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours that turn one into the other."""
    above, row = list(range(len(right) + 1)), list(range(len(right) + 1))
    for place, letter in enumerate(left, start=1):
        before, above, row = above, row, [place]
        for other, its_letter in enumerate(right, start=1):
            cost = min(above[other] + 1, row[-1] + 1, above[other - 1] + (letter != its_letter))
            if place > 1 < other and letter == right[other - 2] and left[place - 2] == its_letter:
                cost = min(cost, before[other - 2] + 1)
            row.append(cost)
    return row[-1]
