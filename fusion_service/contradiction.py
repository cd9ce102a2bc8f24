"""Whether two comparable claims can both be right, by rules alone: figures, dates, directions, denials, reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lanemesh.v1.fusion_pb2 import DisagreementType

from fusion_service.claims import Claim
from fusion_service.figures import Date, Figure
from fusion_service.words import OPPOSITES

FACTUAL = DisagreementType.DISAGREEMENT_TYPE_FACTUAL
TEMPORAL = DisagreementType.DISAGREEMENT_TYPE_TEMPORAL
SCOPE = DisagreementType.DISAGREEMENT_TYPE_SCOPE

# Claims are about the same thing from this nearness on.
NEAR = 0.425
# How likely a shared word is chance.
_CHANCE = 0.6
# Where only a value or a little word differs, the rest must be the same almost word for word.
_SAME_WORDS = 0.75


class Difference(NamedTuple):
    """Why two claims cannot both be right."""

    type: DisagreementType.ValueType
    explanation: str
    values: tuple[str, str]
    # How near the subjects are: the nearer, the surer.
    confidence: float


def nearness(one: Claim, other: Claim) -> float:
    """0..1: the share of the smaller subject that both have, less where few words may be shared by chance."""
    shared = len(one.subject & other.subject)
    return shared / min(len(one.subject), len(other.subject)) * (1.0 - _CHANCE**shared) if shared else 0.0


def compare(one: Claim, other: Claim, least: float = NEAR) -> Difference | None:
    """The first difference found, from the surest kind to the least sure; None when both may be right."""
    near = nearness(one, other)
    if not near or near < least or one.open or other.open:
        return None
    shared = one.subject & other.subject
    alike = len(shared) / min(len(one.subject), len(other.subject))
    close = alike >= _SAME_WORDS and not _about_others(one, other)
    return (
        (_figures(one, other, near) or _dates(one, other, near) or _reach(one, other, near) if close else None)
        or _directions(one, other, shared, near)
        or _denials(one, other, shared, alike >= _SAME_WORDS, near)
    )


def _about_others(one: Claim, other: Claim) -> bool:
    """Each names somebody the other does not speak of at all."""
    return bool(one.names - other.subject and other.names - one.subject)


def _figures(one: Claim, other: Claim, near: float) -> Difference | None:
    if _differ(one.dates, other.dates):
        return None
    for ours, theirs in _pairs(one.figures, other.figures):
        if ours.excludes(theirs):
            told = f"One source says {ours.shown}, the other {theirs.shown}."
            return Difference(FACTUAL, told, (ours.shown, theirs.shown), near)
    return None


def _pairs(ours: Sequence[Figure], theirs: Sequence[Figure]) -> list[tuple[Figure, Figure]]:
    """Figures of one dimension that stand for the same thing: the only ones, or the same places of equal lists."""
    pairs: list[tuple[Figure, Figure]] = []
    for dimension in dict.fromkeys(figure.dimension for figure in ours):
        mine = [figure for figure in ours if figure.dimension == dimension]
        yours = [figure for figure in theirs if figure.dimension == dimension]
        agreed = any(not figure.excludes(one) for figure in mine for one in yours)
        if len(mine) == len(yours) and (len(mine) == 1 or not agreed):
            pairs.extend(zip(mine, yours, strict=True))
    if not pairs and len(ours) == len(theirs) == 1 and ours[0].counts and theirs[0].counts:
        return [(ours[0], theirs[0])]
    return pairs


def _dates(one: Claim, other: Claim, near: float) -> Difference | None:
    if len(one.dates) != 1 or len(other.dates) != 1 or not _differ(one.dates, other.dates):
        return None
    if len(one.figures) != len(other.figures) or one.figures:
        return None
    values = (_shown(one.dates[0]), _shown(other.dates[0]))
    return Difference(TEMPORAL, f"One source says {values[0]}, the other {values[1]}.", values, near)


def _differ(ours: Sequence[Date], theirs: Sequence[Date]) -> bool:
    return bool(ours and theirs) and all(mine.excludes(yours) for mine in ours for yours in theirs)


def _directions(one: Claim, other: Claim, shared: frozenset[str], near: float) -> Difference | None:
    both = [stem for stem in one.moved if stem in other.moved and stem in shared]
    against = [stem for stem in both if one.moved[stem] != other.moved[stem]]
    if len(against) < len(both) or not one.heads & other.heads & set(against):
        return None
    stem = sorted(against)[0]
    values = (_DIRECTIONS[one.moved[stem]], _DIRECTIONS[other.moved[stem]])
    return Difference(FACTUAL, f"The sources differ on which way it goes: {values[0]} or {values[1]}.", values, near)


def _denials(one: Claim, other: Claim, shared: frozenset[str], close: bool, near: float) -> Difference | None:
    told = "One source denies what the other says."
    if one.without_effect != other.without_effect and (one.moved or other.moved):
        return Difference(FACTUAL, told, ("", ""), near)
    if not close:
        return None
    if (one.denied ^ other.denied) & shared and not one.denied & other.denied:
        return Difference(FACTUAL, told, ("", ""), near)
    if any(OPPOSITES[word] & other.subject - one.subject for word in one.subject & OPPOSITES.keys() - other.subject):
        return Difference(FACTUAL, "The sources use opposite words.", ("", ""), near)
    return None


def _reach(one: Claim, other: Claim, near: float) -> Difference | None:
    if {one.reach, other.reach} != {"all", "some"}:
        return None
    told = "One source speaks of all, the other of some only."
    return Difference(SCOPE, told, (one.reach, other.reach), near)


def _shown(date: Date) -> str:
    return "-".join(f"{part:02}" for part in date if part)


_DIRECTIONS = {1: "up", -1: "down", 0: "unchanged"}
