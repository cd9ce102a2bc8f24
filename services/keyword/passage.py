"""The stretch of a document that answers best: the sentences around the densest group of matched words."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable

from lanemesh.v1.evidence_pb2 import Span

from services.text.unspaced import is_unspaced

# Matched words within this many characters count as one group, and a passage reaches this far beyond them.
WINDOW = 320
REACH = 160
# Places looked at per word, so that a document of the greatest length costs milliseconds.
MOST_PLACES = 200

# The group ends where a sentence ends, the whole where the next begins.
_BOUNDARY = re.compile(r"([.!?](?=\s)|[。！？]|\b(?=\n\s*\n))\s*")
_REST_OF_WORD = re.compile(r"[^\W_]*")
# Enough of English inflection to find the other forms of a word; the rest of a word must be this long.
_ENDING = re.compile(r"(?<=\w{4})(?:ations?|y?ings?|ions?|ies|ied|ers?|ed|es|ly|[sey])$")

# Start, end, and the word that stands there.
Match = tuple[int, int, str]


def stems_of(words: Iterable[str]) -> list[str]:
    """What the forms of each word have in common, near enough."""
    return list(dict.fromkeys(_ENDING.sub("", word) for word in words))


def matches_in(content: str, stems: Iterable[str]) -> list[Match]:
    """Where words that begin with a stem stand in the content, in order."""
    # Lower case keeps every offset but for one letter, the dotted capital I.
    lowered = content.lower() if "İ" not in content else content
    found: list[Match] = []
    for stem in stems:
        found.extend(_places(lowered, stem))
    return sorted(found)


def best_passage(content: str, matches: list[Match]) -> Span | None:
    """The best stretch with its offsets in characters and in bytes of UTF-8; None where nothing matched."""
    if not matches:
        return None
    first, last = _densest(matches)
    start, end = _to_sentences(content, matches[first][0], matches[last][1])
    start_byte = len(content[:start].encode())
    return Span(start=start, end=end, start_byte=start_byte, end_byte=start_byte + len(content[start:end].encode()))


def _places(lowered: str, stem: str) -> list[Match]:
    places: list[Match] = []
    # Where words are not told apart, one may begin anywhere.
    whole = is_unspaced(stem)
    start = lowered.find(stem)
    while start >= 0 and len(places) < MOST_PLACES:
        end = start + len(stem)
        if whole:
            places.append((start, end, stem))
        elif start == 0 or not lowered[start - 1].isalnum():
            rest = _REST_OF_WORD.match(lowered, end)
            end = rest.end() if rest else end
            places.append((start, end, stem))
        start = lowered.find(stem, end)
    return places


def _densest(matches: list[Match]) -> tuple[int, int]:
    """First and last match of the group with the most different words, then the most words."""
    words: Counter[str] = Counter()
    best, chosen, first = (0, 0), (0, 0), 0
    for last, (_, end, word) in enumerate(matches):
        words[word] += 1
        while first < last and end - matches[first][0] > WINDOW:
            leaving = matches[first][2]
            words[leaving] -= 1
            if not words[leaving]:
                del words[leaving]
            first += 1
        if (len(words), last - first) > best:
            best, chosen = (len(words), last - first), (first, last)
    return chosen


def _to_sentences(content: str, start: int, end: int) -> tuple[int, int]:
    """Widens to the ends of the sentences, or to whole words where a sentence reaches too far."""
    low, high = max(0, start - REACH), min(len(content), end + REACH)
    stops = list(_BOUNDARY.finditer(content, low, high))
    begins = [stop.end() for stop in stops]
    ends = [stop.end(1) for stop in stops]
    before = bisect_right(begins, start)
    after = bisect_left(ends, end)
    left = begins[before - 1] if before else _word_start(content, low, start)
    right = ends[after] if after < len(ends) else _word_end(content, end, high)
    return left, right


def _word_start(content: str, low: int, start: int) -> int:
    if low == 0:
        return start - len(content[:start].lstrip()) if content[:start].strip() else start
    space = content.find(" ", low, start)
    return space + 1 if space >= 0 else start


def _word_end(content: str, end: int, high: int) -> int:
    if high == len(content):
        return end + len(content[end:].rstrip())
    space = content.rfind(" ", end, high)
    return space if space >= 0 else end
