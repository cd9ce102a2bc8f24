"""Which ways to go from an entity: relation words of the question become sequences of hops, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations

from services.kg.cues import DOER_ENDINGS, Cue, Cues
from services.kg.engine import Spoke
from services.kg.words import relation_words

# What a plan is worth when it takes the cues in another order, leaves some out, or comes back by the same relation.
_REORDERED = 0.6
_SHORTER = 0.5
_BACK = 0.9
# A plan with a hop of which the question's words say nothing that the graph understands.
_GUESSED = 0.1
_MOST_CUES = 4
# A hop against the direction the sentence asks for, and one whose relation fits worse than the best of its cue.
_WRONG_WAY = 0.6
# A later hop that leads away from what is asked for.
_AWAY = 0.1
_LEAST_FIT = 0.55
_AGENT = "by"
# First words of relations that give an entity's property: has_genre, in_language.
_ATTRIBUTES = frozenset({"has", "have", "in", "is"})


@dataclass(frozen=True, slots=True)
class Hop:
    """Relations that may be followed and how well each fits, None for any; `cue` tells the way, `back` means the way
    just come, `asked` that its relations lead to what is asked for."""

    fits: dict[str, float] | None
    cue: Cue | None = None
    back: bool = False
    asked: bool = False

    def worth(self, spoke: Spoke) -> float:
        """How well a relation type in one direction answers the cue, 0 when it does not."""
        if self.fits is None:
            return 1.0
        fit = self.fits.get(spoke.relation, 0.0)
        if self.asked and spoke.reversed:
            return fit * _AWAY
        if self.cue is None or not fit or _leads_along(spoke.relation, self.cue) != spoke.reversed:
            return fit
        return fit * _WRONG_WAY


_ANY = Hop(None)


@dataclass(frozen=True, slots=True)
class Plan:
    """Hops in order, and how likely they are what is asked."""

    hops: tuple[Hop, ...]
    weight: float


def plans_for(cues: Cues, most_hops: int) -> list[Plan]:
    """The ways worth trying, the likeliest first."""
    chosen = cues.cues[:_MOST_CUES]
    plans: list[Plan] = []
    if len(chosen) == 1:
        hop = _hop(chosen[0])
        # "Other films by the director of X" goes on from the director; "what else calls X" does not.
        back = cues.returns or (cues.others and chosen[0].noun)
        plans.append(Plan((hop,), _BACK if back else 1.0))
        if cues.returns or cues.others:
            plans.append(Plan((hop, Hop(hop.fits, back=True)), 1.0 if back else _BACK))
        if cues.unexplained:
            plans += [Plan((hop, _ANY), _GUESSED), Plan((_ANY, Hop(hop.fits)), _GUESSED)]
    for length in range(len(chosen), 1, -1):
        plans.extend(_orders(chosen, length))
    if len(chosen) > 1:
        plans.extend(Plan((_hop(cue),), _SHORTER**place * _SHORTER) for place, cue in enumerate(chosen, 1))
    return sorted((plan for plan in plans if len(plan.hops) <= most_hops), key=lambda plan: -plan.weight)


def _orders(chosen: list[Cue], length: int) -> Iterable[Plan]:
    left_out = _SHORTER ** (len(chosen) - length)
    for order in permutations(range(len(chosen)), length):
        inversions = sum(order[left] > order[right] for left in range(length) for right in range(left + 1, length))
        hops = [_hop(chosen[place]) for place in order]
        # Only the first hop touches the entity; further on the graph itself says which way is open.
        later = [Hop(hop.fits, asked=chosen[place].asked) for hop, place in zip(hops[1:], order[1:], strict=True)]
        yield Plan((hops[0], *later), left_out * _REORDERED**inversions)


def _hop(cue: Cue) -> Hop:
    best = max(cue.relations.values())
    fits = {relation: fit / best for relation, fit in cue.relations.items() if fit >= _LEAST_FIT * best}
    return Hop(fits, cue)


def _leads_along(relation: str, cue: Cue) -> bool:
    """Whether the sentence asks for what the relation leads to from the entity, rather than for what leads to it."""
    words = [word.text for word in relation_words(relation)] or [relation]
    # written_by starts where "wrote" ends.
    passive = words[-1] == _AGENT
    if words[0] in _ATTRIBUTES:
        return True
    if cue.noun:
        return passive or not cue.doer or any(word.endswith(DOER_ENDINGS) for word in words)
    return cue.from_entity != passive
