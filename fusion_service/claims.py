"""What a sentence claims, in comparable parts: subject, figures, dates, directions, denials and how far it reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fusion_service.claim_words import ALL, DIRECTIONS, EFFECTS, OPEN, PREFIXES, SOME
from fusion_service.figures import Date, Figure, read
from fusion_service.tokens import fold, normal, words
from fusion_service.words import NEGATIONS, NUMBER_WORDS, STOP_WORDS, UNITS

# How many words after a negation it denies, and how far a direction reaches to what it moves.
_NEGATION_REACH = 4
_AHEAD, _BEHIND, _HEADS = 4, 4, 4
_MOST_CLAIMS = 1 << 11


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence in comparable parts."""

    subject: frozenset[str]
    names: frozenset[str]
    figures: Sequence[Figure]
    dates: Sequence[Date]
    # What goes up (1), down (-1) or, being denied, nowhere (0).
    moved: Mapping[str, int]
    # Of these, the words nearest to what says so.
    heads: frozenset[str]
    # Words denied by a negation, or by the prefix of a word.
    denied: frozenset[str]
    # Whether it denies any effect or relation at all.
    without_effect: bool
    # all, some, or nothing said.
    reach: str
    # Whether it only asks, or says what somebody set out to find.
    open: bool


def claim(text: str) -> Claim:
    """The claim of a sentence; each is worked out once while it is remembered."""
    known = _CLAIMS.get(text)
    if known is None:
        if len(_CLAIMS) >= _MOST_CLAIMS:
            _CLAIMS.clear()
        known = _CLAIMS[text] = _claim(text)
    return known


_CLAIMS: dict[str, Claim] = {}


def _claim(text: str) -> Claim:
    written = words(text)
    folded = [fold(word) for word in written]
    stems = [normal(word) for word in written]
    denying = _denying(folded)
    moved, heads = _movements(folded, stems, denying)
    subject, denied = _subject(folded, stems, denying)
    figures, dates = read(text)
    effect = any(no and stem in EFFECTS for stem, no in zip(stems, denying, strict=True))
    reach = "all" if ALL.intersection(folded) else "some" if SOME.intersection(folded) else ""
    is_open = text.endswith("?") or not OPEN.isdisjoint(folded)
    return Claim(subject, _names(written), figures, dates, moved, heads, denied, effect, reach, is_open)


def _denying(folded: Sequence[str]) -> list[bool]:
    """For every word whether a negation reaches it; "but not" and "not only" set apart rather than deny."""
    denying, left = [], 0
    for place, word in enumerate(folded):
        if word in NEGATIONS or word.endswith("n't"):
            contrast = folded[max(0, place - 1) : place] == ["but"] or folded[place + 1 : place + 2] == ["only"]
            left = 0 if contrast else _NEGATION_REACH
            denying.append(False)
            continue
        denying.append(left > 0)
        left -= left > 0 and word not in STOP_WORDS
    return denying


def _subject(
    folded: Sequence[str], stems: Sequence[str], denying: Sequence[bool]
) -> tuple[frozenset[str], frozenset[str]]:
    """What the sentence is about, numbers, units and directions left out; and what of it is denied."""
    subject: set[str] = set()
    denied = {stem for stem, no in zip(stems, denying, strict=True) if no and stem}
    for word, stem in zip(folded, stems, strict=True):
        if not stem or stem[0].isdigit() or word in DIRECTIONS or word in UNITS or word in NUMBER_WORDS:
            continue
        root = normal(PREFIXES.get(word, ""))
        if root and root not in stems:
            denied ^= {root}
        subject.add(root or stem)
    return frozenset(subject), frozenset(denied)


def _movements(
    folded: Sequence[str], stems: Sequence[str], denying: Sequence[bool]
) -> tuple[Mapping[str, int], frozenset[str]]:
    moved: dict[str, int] = {}
    heads: set[str] = set()
    for place, word in enumerate(folded):
        sign = DIRECTIONS.get(word)
        if sign is not None:
            around = _around(stems, place)
            heads.update(around[:_HEADS])
            for stem in around:
                moved.setdefault(stem, 0 if denying[place] else sign)
    return moved, frozenset(heads)


def _around(stems: Sequence[str], place: int) -> list[str]:
    """What a direction word is about: the words after it, nearest first, then those before."""
    ahead = stems[place + 1 : place + 1 + _AHEAD]
    behind = stems[max(0, place - _BEHIND) : place]
    return [stem for stem in (*ahead, *reversed(behind)) if stem and not stem[0].isdigit()]


def _names(written: Sequence[str]) -> frozenset[str]:
    """Words written like names or codes, the first word only when it is written so beyond its first letter."""
    names = {word for word in written[1:] if any(map(str.isupper, word))}
    names |= {word for word in written[:1] if any(map(str.isupper, word[1:])) or any(map(str.isdigit, word))}
    return frozenset(normal(word) for word in names if fold(word) not in UNITS) - {""}
