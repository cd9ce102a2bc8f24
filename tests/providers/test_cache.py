"""What the cache keeps, for how long, and what makes two questions the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from services.providers.cache import Cache, Entry, cache_key
from services.providers.provider import Entity, Question
from tests.providers.clock import Clock
from tests.support import evidence

QUESTION = Question("Canal lock", 10)
PLACES = ["brave=https://a"]


@dataclass
class Other:
    """A store that other processes share."""

    entries: dict[str, Entry] = field(default_factory=dict)
    asked: int = 0

    async def get(self, key: str) -> Entry | None:
        self.asked += 1
        return self.entries.get(key)

    async def put(self, key: str, entry: Entry, seconds: float) -> None:
        self.entries[key] = entry

    async def close(self) -> None:
        return None


def key(
    question: Question = QUESTION, lane: str = "web", places: list[str] = PLACES, labels: tuple[str, ...] = ()
) -> str:
    return cache_key(lane, places, question, labels)


def test_spelling_does_not_make_another_question() -> None:
    assert key() == key(replace(QUESTION, query="  canal\tＬＯＣＫ ")) == key(labels=())
    assert key(replace(QUESTION, sites=("a", "b"))) == key(replace(QUESTION, sites=("b", "a")))


DIFFERENT = [
    replace(QUESTION, query="canal locks"),
    replace(QUESTION, max_results=11),
    replace(QUESTION, language="de"),
    replace(QUESTION, published_after=datetime(2026, 1, 1, tzinfo=UTC)),
    replace(QUESTION, published_before=datetime(2026, 1, 1, tzinfo=UTC)),
    replace(QUESTION, sites=("arxiv.org",)),
    replace(QUESTION, sources=("arxiv.org",)),
    replace(QUESTION, entities=(Entity("IT", "TICKER", "IT"),)),
]


def test_everything_that_shapes_the_answer_makes_another_key() -> None:
    keys = {key(question) for question in DIFFERENT}
    keys |= {key(), key(lane="news"), key(places=["brave=https://b"]), key(places=[]), key(labels=("a",))}
    assert len(keys) == len(DIFFERENT) + 5


async def test_entries_are_fresh_then_stale_then_gone() -> None:
    clock = Clock()
    cache = Cache(300, 1_000, 1 << 20, now=clock)
    cache.store("k", [evidence("a")])
    clock.now += 300
    entry = await cache.find("k")
    assert entry is not None
    assert cache.fresh(entry)
    assert [each.document.id for each in entry.evidence()] == ["a"]
    clock.now += 1
    assert not cache.fresh(entry)
    assert await cache.find("k") == entry
    clock.now += 1_000
    assert await cache.find("k") is None


async def test_the_bound_of_bytes_throws_out_what_was_used_least_recently() -> None:
    cache = Cache(300, 0, 2_500)
    for name in "ab":
        cache.store(name, [evidence(name, "x" * 1_000)])
    assert await cache.find("a")
    cache.store("c", [evidence("c", "x" * 1_000)])
    assert [bool(await cache.find(name)) for name in "abc"] == [True, False, True]
    cache.store("huge", [evidence("d", "x" * 5_000)])
    assert [bool(await cache.find(name)) for name in ("a", "c", "huge")] == [True, True, False]


async def test_readers_cannot_spoil_what_is_kept() -> None:
    cache = Cache(300, 0, 1 << 20)
    cache.store("k", [evidence("a")])
    for _ in range(2):
        entry = await cache.find("k")
        assert entry is not None
        (found,) = entry.evidence()
        assert found.document.title == "a"
        found.document.title = "spoiled"


async def test_a_shared_store_is_asked_when_this_process_knows_nothing_fresh() -> None:
    clock = Clock()
    other = Other()
    cache = Cache(300, 1_000, 1 << 20, other, clock)
    other.entries["k"] = Entry.of([evidence("theirs")], clock.now)
    for _ in range(2):
        entry = await cache.find("k")
        assert entry is not None
        assert entry.evidence()[0].document.id == "theirs"
    assert other.asked == 1
    await cache.share("mine", cache.store("mine", [evidence("mine")]))
    assert other.entries["mine"].evidence()[0].document.id == "mine"


async def test_the_newer_of_two_stale_entries_is_taken() -> None:
    clock = Clock()
    other = Other()
    cache = Cache(300, 10_000, 1 << 20, other, clock)
    cache.store("k", [evidence("mine")])
    other.entries["k"] = Entry.of([evidence("older")], clock.now - 50)
    clock.now += 500
    entry = await cache.find("k")
    assert entry is not None
    assert entry.evidence()[0].document.id == "mine"


def test_an_entry_survives_the_way_through_a_store() -> None:
    entry = Entry.of([evidence("a")], 12.5)
    assert Entry.unpacked(entry.packed()) == entry
    with pytest.raises(Exception, match="unpack"):
        Entry.unpacked(b"short")
