"""Answers kept for a while: in this process within a bound of bytes, and beside it wherever a shared store is given."""

from __future__ import annotations

import hashlib
import struct
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from unicodedata import normalize

from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.lane_pb2 import RetrieveResponse

from services.providers.provider import Question
from services.runtime.deadline import Clock

_HEADER = struct.Struct("!d")


def cache_key(lane: str, addresses: Iterable[str], question: Question, labels: Sequence[str]) -> str:
    """One name for everything that shapes the answer; `addresses` are those of the providers that may be asked."""
    query = " ".join(normalize("NFKC", question.query).casefold().split())
    parts = (
        lane,
        sorted(addresses),
        query,
        question.max_results,
        question.language.casefold(),
        question.published_after,
        question.published_before,
        sorted(question.sites),
        sorted(question.sources),
        [(entity.kind, entity.symbol, entity.name, entity.mention) for entity in question.entities],
        sorted(set(labels)),
    )
    return f"lanemesh:{lane}:{hashlib.sha256(repr(parts).encode()).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Entry:
    """An answer as it was stored, `stored_at` seconds since 1970."""

    stored_at: float
    body: bytes

    @classmethod
    def of(cls, evidence: Sequence[Evidence], stored_at: float) -> Entry:
        """The entry of these results."""
        return cls(stored_at, RetrieveResponse(evidence=evidence).SerializeToString())

    def evidence(self) -> list[Evidence]:
        """The results, the reader's own."""
        return list(RetrieveResponse.FromString(self.body).evidence)

    def packed(self) -> bytes:
        """As other processes read it."""
        return _HEADER.pack(self.stored_at) + self.body

    @classmethod
    def unpacked(cls, packed: bytes) -> Entry:
        """What `packed` made."""
        stored_at: float = _HEADER.unpack_from(packed)[0]
        return cls(stored_at, packed[_HEADER.size :])


class Shared(Protocol):
    """A store that several processes share. It never raises: without it there is only the process's own cache."""

    async def get(self, key: str) -> Entry | None:
        """The entry, if there is one and the store answers in time."""

    async def put(self, key: str, entry: Entry, seconds: float) -> None:
        """Keeps the entry for that long."""

    async def close(self) -> None:
        """Closes its connections."""


class Cache:
    """Fresh entries for `ttl` seconds, stale ones for `stale` more, the least recently used thrown out first."""

    def __init__(
        self, ttl: float, stale: float, max_bytes: int, shared: Shared | None = None, now: Clock = time.time
    ) -> None:
        self._ttl = ttl
        self._kept_for = ttl + stale
        self._max_bytes = max_bytes
        self._shared = shared
        self._now = now
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._bytes = 0

    async def find(self, key: str) -> Entry | None:
        """The entry under the key, fresh or stale; a fresh one of this process needs no look elsewhere."""
        own = self._own(key)
        if self._shared is None or (own is not None and self.fresh(own)):
            return own
        other = await self._shared.get(key)
        if other is None or self._age(other) > self._kept_for or (own is not None and own.stored_at > other.stored_at):
            return own
        self._keep(key, other)
        return other

    def fresh(self, entry: Entry) -> bool:
        """Whether its time to live has not passed."""
        return self._age(entry) <= self._ttl

    def store(self, key: str, evidence: Sequence[Evidence]) -> Entry:
        """Keeps an answer in this process."""
        entry = Entry.of(evidence, self._now())
        self._keep(key, entry)
        return entry

    async def share(self, key: str, entry: Entry) -> None:
        """Offers an answer to other processes."""
        if self._shared is not None:
            await self._shared.put(key, entry, self._kept_for)

    async def close(self) -> None:
        """Lets the shared store go."""
        if self._shared is not None:
            await self._shared.close()

    def _own(self, key: str) -> Entry | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._age(entry) > self._kept_for:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return entry

    def _keep(self, key: str, entry: Entry) -> None:
        self._drop(key)
        if len(entry.body) > self._max_bytes:
            return
        self._entries[key] = entry
        self._bytes += len(entry.body)
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        self._bytes -= len(entry.body) if entry else 0

    def _age(self, entry: Entry) -> float:
        return self._now() - entry.stored_at
