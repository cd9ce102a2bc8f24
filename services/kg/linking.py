"""Which entities a question mentions: names found by their words, the longest and most telling first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from services.kg.engine import ALIAS, NAME, Named, Node
from services.kg.vocabulary import COMMON_WORDS, STOP_WORDS
from services.kg.words import Word, key_of, spans_of, symbols_of, words_of

# How much a word says as (part of) a name: written small, or with a capital where a sentence does not ask for one.
_STOP, _COMMON, _TELLING = (0.1, 0.9), (0.35, 1.2), (1.0, 1.6)
_FIRST_CAPITAL = 0.2
_LONGER = 0.5
# A mention counts beside the best one when it says at least this share as much, a long name counting as a short one.
_SHARE = 0.7
_ENOUGH = 1.7
# Entities of one name count beside the best one when they fit at least this share as well.
_ALIKE = 0.8
_ALIKE_MOST = 12
_KIND_FIT = {NAME: 1.0, ALIAS: 0.95}
_SHORTENED_FIT = 0.8
_INEXACT_FIT = 0.9
_TYPE_FIT = 1.25


@dataclass(frozen=True, slots=True)
class Link:
    """A stretch of the question and the entities it may mean, the likeliest first."""

    start: int
    end: int
    first: int
    last: int
    weight: float
    nodes: tuple[tuple[Node, float], ...]
    # Everything of that name, whether likely meant or not.
    namesakes: tuple[Node, ...]


class Question:
    """A question as words, and the stretches of it that could be names."""

    def __init__(self, text: str, hints: Sequence[str] = ()) -> None:
        self.text = text
        self.words = words_of(text)
        self._symbols = symbols_of(text)
        self._hinted = {key for hint in hints if (key := key_of(words_of(hint)))}
        self._spans: dict[str, list[tuple[Sequence[Word], int, int]]] = defaultdict(list)
        for first, last in spans_of(self.words):
            stretch = self.words[first:last]
            self._spans[key_of(stretch)].append((stretch, first, last))
        for symbol in self._symbols:
            place = sum(word.end <= symbol.start for word in self.words)
            self._spans[symbol.text].append(([symbol], place, place))

    @property
    def keys(self) -> list[str]:
        """What to ask the engine for."""
        return list(self._spans)

    def links(self, found: Sequence[Named]) -> list[Link]:
        """The mentions that do not overlap, the most telling first; never empty when anything was found."""
        by_key: dict[str, list[Named]] = defaultdict(list)
        for named in found:
            by_key[named.key].append(named)
        links = [
            self._link(stretch, first, last, named)
            for key, named in by_key.items()
            for stretch, first, last in self._spans[key]
        ]
        # Of mentions that say equally little the later one is likelier: questions begin with question words.
        links.sort(key=lambda link: (-link.weight, -link.start))
        return _apart(links)

    def _link(self, stretch: Sequence[Word], first: int, last: int, named: Sequence[Named]) -> Link:
        start, end = stretch[0].start, stretch[-1].end
        surface = self.text[start:end]
        fits = sorted(((self._fit(each, surface), each) for each in named), key=_order)
        best = fits[0][0]
        alike = [(each.node, fit) for fit, each in fits if fit >= _ALIKE * best][:_ALIKE_MOST]
        weight = self._weight(stretch, first) * min(1.0, best)
        return Link(start, end, first, last, weight, tuple(alike), tuple(each.node for _, each in fits))

    def _fit(self, named: Named, surface: str) -> float:
        fit = _KIND_FIT.get(named.kind, _SHORTENED_FIT)
        if named.kind == NAME and named.node.name != surface:
            fit *= 1.0 if named.node.name.casefold() == surface.casefold() else _INEXACT_FIT
            fit *= 0.99
        if named.node.type and self._says(named.node.type):
            fit *= _TYPE_FIT
        return fit * (0.5 + 0.5 * named.node.confidence)

    def _says(self, kind: str) -> bool:
        wanted = {word.text for word in words_of(kind)}
        return any(word.text in wanted for word in self.words)

    def _weight(self, stretch: Sequence[Word], first: int) -> float:
        weight = sum(_says_much(word, first + number == 0) for number, word in enumerate(stretch))
        weight += _LONGER * (len(stretch) - 1)
        return weight * 2.0 if self._hints(key_of(stretch)) else weight

    def _hints(self, key: str) -> bool:
        """Whether a hint is the name or a part of it: a longer name that the graph knows is not less likely meant."""
        return any(f" {hint} " in f" {key} " for hint in self._hinted)


def _order(fit: tuple[float, Named]) -> tuple[float, int, str]:
    return (-fit[0], -fit[1].degree, fit[1].node.id)


def _says_much(word: Word, opens: bool) -> float:
    small, capital = _STOP if word.text in STOP_WORDS else _COMMON if word.text in COMMON_WORDS else _TELLING
    if not word.capitalised:
        return small
    return small + _FIRST_CAPITAL if opens else capital


def _apart(links: Sequence[Link]) -> list[Link]:
    chosen: list[Link] = []
    for link in links:
        overlaps = any(link.start < other.end and other.start < link.end for other in chosen)
        if not overlaps and (not chosen or link.weight >= _SHARE * min(_ENOUGH, chosen[0].weight)):
            chosen.append(link)
    return chosen
