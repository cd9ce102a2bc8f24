"""Which records match a query and how they rank, as Meilisearch documents it: near enough to test an adapter against.

Words that match within the typos allowed; how many the matching strategy need not give up; then the typos.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.keyword.typo import within

MOST_WORDS = 10
_WORD = re.compile(r"[^\W_]+")

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Ranked:
    record: Record
    score: float


def tokens(text: str) -> list[str]:
    """Words without case and accents."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return _WORD.findall(unicodedata.normalize("NFC", plain).lower())


def rank(query: str, records: Sequence[Record], settings: Mapping[str, Any], strategy: str) -> list[Ranked]:
    """The records that match, best first. Negated words and phrases of the query act as they do in Meilisearch."""
    stop_words = set(settings["stopWords"])
    negated = {word for part in re.findall(r"(?:^|\s)-(\w+)", query) for word in tokens(part)}
    words = [word for word in tokens(re.sub(r"(?:^|\s)-\w+", " ", query)) if word not in stop_words][:MOST_WORDS]
    bags = [_bag(record, settings["searchableAttributes"], stop_words) for record in records]
    if not words:
        return [Ranked(record, 1.0) for record in records]
    found = {word: [_typos(word, bag, settings["typoTolerance"]) for bag in bags] for word in dict.fromkeys(words)}
    order = _kept_longest(list(found), found, strategy)
    ranked = []
    for place, record in enumerate(records):
        edits = {word: typos[place] for word, typos in found.items() if typos[place] is not None}
        kept = _kept(order, edits, strategy)
        if kept and not negated & bags[place]:
            ranked.append(Ranked(record, _score(len(found), [edits[word] for word in kept])))
    return sorted(ranked, key=lambda each: -each.score)


def _bag(record: Record, attributes: Iterable[str], stop_words: set[str]) -> set[str]:
    return {word for name in attributes for word in tokens(str(record.get(name, "")))} - stop_words


def _typos(word: str, bag: set[str], tolerance: Mapping[str, Any]) -> int | None:
    if word in bag:
        return 0
    sizes = tolerance["minWordSizeForTypos"]
    allowed = (len(word) >= sizes["oneTypo"]) + (len(word) >= sizes["twoTypos"])
    if not tolerance["enabled"] or (tolerance["disableOnNumbers"] and word.isdigit()):
        return None
    for typos in range(1, allowed + 1):
        # A typo in the first letter counts twice.
        if any(within(word, other, typos) and (word[0] == other[0] or typos == 2) for other in bag):
            return typos
    return None


def _kept_longest(words: list[str], found: Mapping[str, Sequence[int | None]], strategy: str) -> list[str]:
    """The words in the order in which the strategy gives them up, the last to go first."""
    if strategy != "frequency":
        return words
    frequency = {word: sum(edits is not None for edits in found[word]) for word in words}
    return sorted(words, key=lambda word: frequency[word] or len(found[word]) + 1)


def _kept(order: Sequence[str], edits: Mapping[str, int | None], strategy: str) -> Sequence[str]:
    """The words a record is ranked by: all up to the first that it lacks."""
    kept = order[: next((place for place, word in enumerate(order) if word not in edits), len(order))]
    return () if strategy == "all" and len(kept) < len(order) else kept


def _score(words: int, edits: Sequence[int | None]) -> float:
    return (len(edits) - 0.1 * sum(typos or 0 for typos in edits) / len(edits)) / words
