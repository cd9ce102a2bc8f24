"""The words of a question that name relations: which they may mean, how near the entity they stand, which way they
point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from services.kg.linking import Link
from services.kg.vocabulary import (
    COMMON_WORDS,
    OTHER_WORDS,
    PROJECT_WORDS,
    RETURN_WORDS,
    STOP_WORDS,
    meanings,
    stem,
)
from services.kg.words import Word, relation_words

_SAME_WORD, _SAME_MEANING = 1.0, 0.8
# Words of one cue stand at most this far apart.
_NEAR = 3
_AGENT = "by"
_AGENT_DISTANCE = 0.5
_POSSESSIVE = ("'s", "’s")
DOER_ENDINGS = ("er", "or")
# Question words that name a relation themselves.
_SPEAKING = frozenset({"when", "where", "why"})
_CHOOSING = frozenset({"which", "what"})


@dataclass(slots=True)
class Cue:
    """Neighbouring words that may mean the same relations, with how well each relation fits."""

    first: int
    last: int
    relations: dict[str, float]
    # Words from here to the entity.
    distance: float = 0.0
    # Stands directly before the entity, as in "the director Jane Doe".
    apposed: bool = False
    # Whether the entity is what the relation starts from in the sentence.
    from_entity: bool = True
    # Used as a noun, as in "the owner of X", and one that names a doer.
    noun: bool = False
    doer: bool = False
    # Follows "which": names what is asked for, so that a later relation leads to it and not away from it.
    asked: bool = False


@dataclass(slots=True)
class Cues:
    """What a question says about relations."""

    cues: list[Cue] = field(default_factory=list)
    returns: bool = False
    others: bool = False
    # A telling word stands for no relation here: there may be a hop of which nothing is understood.
    unexplained: bool = False


def read(
    words: Sequence[Word], link: Link, links: Sequence[Link], relations: Iterable[str], types: frozenset[str]
) -> Cues:
    """The cues around one mention, the nearest first. A word that names a type of entity means no other relation."""
    taken = {place for each in links for place in range(each.first, each.last)}
    free = [(place, word.text) for place, word in enumerate(words) if place not in taken]
    known = {relation: own_words(relation) for relation in relations}
    cues: list[Cue] = []
    unexplained = False
    for place, text in free:
        # "What do other teams use" asks about projects, not about owners.
        if text in PROJECT_WORDS and place and words[place - 1].text in OTHER_WORDS:
            continue
        fits = _fits(text, known, frozenset() if text in types else meanings(text))
        if fits:
            _add(cues, place, fits, link)
        elif text not in STOP_WORDS | COMMON_WORDS | types:
            unexplained = True
    # "Share" of shares_border_with is that relation and asks for no way back.
    said = {text for _, text in free if not names_relation(text, known.values())}
    for cue in cues:
        _place(cue, words, link)
    cues.sort(key=lambda cue: (cue.distance, cue.first))
    found = Cues(_without_apposition(cues), bool(said & RETURN_WORDS), bool(said & OTHER_WORDS), unexplained)
    if not (found.returns or found.others):
        found.cues = _once(found.cues)
    return found


def own_words(relation: str) -> list[str]:
    """The words a relation is named by, stop words only when there are no others."""
    words = [word.text for word in relation_words(relation)]
    return [word for word in words if word not in STOP_WORDS] or words


def names_relation(text: str, known: Iterable[Sequence[str]]) -> bool:
    """Whether the word is one of a relation's own, whatever its form."""
    root = stem(text)
    return any(stem(part) == root for parts in known for part in parts)


def _fits(text: str, known: dict[str, list[str]], meant: frozenset[int]) -> dict[str, float]:
    if text in STOP_WORDS and text not in _SPEAKING:
        return {}
    root = stem(text)
    fits: dict[str, float] = {}
    for relation, parts in known.items():
        fit = sum(_SAME_WORD if stem(part) == root else _SAME_MEANING * bool(meant & meanings(part)) for part in parts)
        if fit:
            fits[relation] = fit / len(parts) ** 0.5
    return fits


def _add(cues: list[Cue], place: int, fits: dict[str, float], link: Link) -> None:
    """Joins the word to the cue before it when both may mean the same relation and no entity stands between."""
    if cues:
        last = cues[-1]
        shared = last.relations.keys() & fits.keys()
        if shared and place - last.last <= _NEAR and not last.last < link.first <= place:
            last.relations = {relation: last.relations[relation] + fits[relation] for relation in shared}
            last.last = place
            return
    cues.append(Cue(place, place, dict(fits)))


def _place(cue: Cue, words: Sequence[Word], link: Link) -> None:
    before = cue.last < link.first
    between = [word.text for word in (words[cue.last + 1 : link.first] if before else words[link.last : cue.first])]
    after = words[cue.last + 1].text if cue.last + 1 < len(words) else ""
    cue.distance = float(len(between) + 1)
    passive = between[:1] == [_AGENT] if before else after == _AGENT
    if before and passive:
        cue.distance = _AGENT_DISTANCE
    cue.apposed = before and not between
    # "X calls", "called by X" start from X; "calls X", "X is called by" lead to it.
    cue.from_entity = passive if before else not passive
    owned = not before and not between and words[link.last - 1].surface.endswith(_POSSESSIVE)
    cue.noun = owned or (before and between[:1] == ["of"])
    cue.doer = words[cue.last].text.endswith(DOER_ENDINGS)
    cue.asked = cue.first > 0 and words[cue.first - 1].text in _CHOOSING


def _without_apposition(cues: list[Cue]) -> list[Cue]:
    """Leaves out "writer" of "which films did the writer X write": it only says what X is."""
    for cue in cues:
        others = [other for other in cues if other is not cue]
        if cue.apposed and any(cue.relations.keys() & other.relations.keys() for other in others):
            return others
    return cues


def _once(cues: list[Cue]) -> list[Cue]:
    """Joins cues on both sides of the entity that mean the same: "what year was X released" names one relation."""
    kept: list[Cue] = []
    for cue in cues:
        same = next((other for other in kept if other.relations.keys() & cue.relations.keys()), None)
        if same is None:
            kept.append(cue)
        else:
            shared = same.relations.keys() & cue.relations.keys()
            same.relations = {relation: same.relations[relation] + cue.relations[relation] for relation in shared}
    return kept
