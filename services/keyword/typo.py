"""Typo tolerance: the indexed words closest to a word the index does not know.

Words of documents that the caller may not see count for nothing: they neither stop a correction nor are one.
"""

# ruff: noqa: S608 - statements are made of constants and bind marks; what a caller sent is always a bound value.

from __future__ import annotations

import sqlite3
import threading
import unicodedata
from collections.abc import Sequence
from itertools import islice

from services.keyword.filters import opened_by
from services.keyword.query import any_of

ONE_EDIT_FROM = 5
TWO_EDITS_FROM = 9
MOST_SUGGESTIONS = 3
# A query of many unknown words is not worth more time than this.
MOST_CORRECTIONS = 8
# Words remembered as indexed, so that they are not looked up again before the index changes.
MOST_KNOWN = 50_000

# Corrections looked at for whether the caller may see a document with them, the most frequent first.
MOST_CANDIDATES = 24

Bucket = dict[int, list[tuple[str, int]]]
# Access labels and a word.
Seen = tuple[tuple[str, ...], str]


class Vocabulary:
    """Corrects words by those of the index. The first letter is taken to be right: only its words are read, once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = -1
        self._buckets: dict[str, Bucket] = {}
        self._known: set[Seen] = set()

    def expand(self, connection: sqlite3.Connection, words: list[str], access_labels: Sequence[str]) -> list[str]:
        """The words, with the closest indexed ones in place of each that the index does not know."""
        visible = _Visible(connection, access_labels, self._of_now(connection)[1])
        expanded: list[str] = []
        corrections = 0
        for word in words:
            if corrections == MOST_CORRECTIONS or edits_allowed(word) == 0 or visible.has(word):
                expanded.append(word)
                continue
            corrections += 1
            expanded.extend(self._closest(connection, fold(word), visible) or [word])
        return list(dict.fromkeys(expanded))

    def _closest(self, connection: sqlite3.Connection, word: str, visible: _Visible) -> list[str]:
        bucket = self._bucket(connection, word[0])
        mask = letters(word)
        for edits in range(1, edits_allowed(word) + 1):
            near = [
                candidate
                for length in range(len(word) - edits, len(word) + edits + 1)
                for candidate, its_mask in bucket.get(length, ())
                # Each edit changes at most two letters of the set: this rules out nearly all without looking closer.
                if (mask ^ its_mask).bit_count() <= 2 * edits and within(word, candidate, edits)
            ]
            if near and (found := visible.first(_most_frequent(connection, near))):
                return found
        return []

    def _of_now(self, connection: sqlite3.Connection) -> tuple[dict[str, Bucket], set[Seen]]:
        """What was read of the index as this connection sees it; nothing yet when it has changed."""
        generation = connection.execute("SELECT generation FROM state").fetchone()[0]
        with self._lock:
            if generation != self._generation:
                self._generation, self._buckets, self._known = generation, {}, set()
            return self._buckets, self._known

    def _bucket(self, connection: sqlite3.Connection, initial: str) -> Bucket:
        buckets, _ = self._of_now(connection)
        if initial not in buckets:
            buckets[initial] = _read_bucket(connection, initial)
        return buckets[initial]


class _Visible:
    """Which words stand in a document that the labels open; `known` remembers those that do."""

    def __init__(self, connection: sqlite3.Connection, access_labels: Sequence[str], known: set[Seen]) -> None:
        self._connection = connection
        self._labels = tuple(sorted(set(access_labels)))
        self._known = known
        self._opened = opened_by(access_labels, "search.rowid")

    def has(self, word: str) -> bool:
        """Whether the word, or a form of it, is in one of the documents."""
        if (self._labels, word) in self._known:
            return True
        statement = f"SELECT 1 FROM search WHERE search MATCH ? AND {self._opened.sql} LIMIT 1"
        row = self._connection.execute(statement, (any_of([word]), *self._opened.values)).fetchone()
        if row is not None and len(self._known) < MOST_KNOWN:
            self._known.add((self._labels, word))
        return row is not None

    def first(self, words: Sequence[str]) -> list[str]:
        """The first few of the words that are."""
        return list(islice(filter(self.has, words), MOST_SUGGESTIONS))


def edits_allowed(word: str) -> int:
    """How many typos a word of this length may hold; none where a digit makes every form a word of its own."""
    if not word.isalpha() or len(word) < ONE_EDIT_FROM:
        return 0
    return 2 if len(word) >= TWO_EDITS_FROM else 1


def fold(word: str) -> str:
    """The word without accents, as the index holds it."""
    plain = [char for char in unicodedata.normalize("NFD", word) if not "\u0300" <= char <= "\u036f"]
    return unicodedata.normalize("NFC", "".join(plain))


def letters(word: str) -> int:
    """The set of letters of a word as bits."""
    mask = 0
    for char in word:
        mask |= 1 << (ord(char) & 31)
    return mask


def within(left: str, right: str, edits: int) -> bool:
    """Whether at most `edits` insertions, deletions, replacements or swaps of neighbours turn one into the other."""
    start = 0
    shortest = min(len(left), len(right))
    while start < shortest and left[start] == right[start]:
        start += 1
    end = 0
    while end < shortest - start and left[-1 - end] == right[-1 - end]:
        end += 1
    left, right = left[start : len(left) - end], right[start : len(right) - end]
    if not left or not right:
        return len(left) + len(right) <= edits
    if edits == 0:
        return False
    if left[:2] == right[1::-1] and len(right) > 1 and within(left[2:], right[2:], edits - 1):
        return True
    shorter = within(left[1:], right, edits - 1) or within(left, right[1:], edits - 1)
    return shorter or within(left[1:], right[1:], edits - 1)


def _read_bucket(connection: sqlite3.Connection, initial: str) -> Bucket:
    statement = "SELECT term FROM vocabulary WHERE term >= ? AND term < ?"
    bucket: Bucket = {}
    for (term,) in connection.execute(statement, (initial, chr(ord(initial) + 1))):
        if term.isalpha():
            bucket.setdefault(len(term), []).append((term, letters(term)))
    return bucket


def _most_frequent(connection: sqlite3.Connection, words: list[str]) -> list[str]:
    marks = ",".join("?" * len(words))
    statement = f"SELECT term FROM vocabulary WHERE term IN ({marks}) ORDER BY doc DESC, term LIMIT ?"
    return [row[0] for row in connection.execute(statement, (*words, MOST_CANDIDATES))]
