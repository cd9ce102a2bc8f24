"""The vocabulary's file: created, kept, refused when it cannot be used, and never half written."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, UpsertRequest

from services.preflight.lane import PreflightLane, open_lane
from services.preflight.schema import VERSION
from services.preflight.vocabulary import Vocabulary, words_of
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import DeadlinePassed, StartupError, Unavailable


def _file(environment: dict[str, str]) -> Path:
    return Path(environment["LANEMESH_HOME"]) / "data" / "preflight.sqlite3"


async def test_schema_mismatch_refuses_to_start(environment: dict[str, str]) -> None:
    await (await open_lane(environment)).close()
    connection = sqlite3.connect(_file(environment))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StartupError, match=rf"version 99.*version {VERSION}"):
        await open_lane(environment)


async def test_foreign_files_refuse_to_start(environment: dict[str, str]) -> None:
    _file(environment).parent.mkdir(parents=True)
    _file(environment).write_bytes(b"this is no database" * 100)
    with pytest.raises(StartupError, match="cannot be opened"):
        await open_lane(environment)


@pytest.mark.parametrize("content", [b"two words here", b"word -1", b"w0rd", b"\xff\xfe"])
async def test_a_file_that_is_no_list_of_words_is_named(environment, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "words").write_bytes(content)
    with pytest.raises(StartupError, match="LANEMESH_PREFLIGHT_VOCABULARY"):
        await open_lane(environment | {"LANEMESH_PREFLIGHT_VOCABULARY": str(tmp_path / "words")})


async def test_locked_vocabulary_is_unavailable(environment: dict[str, str]) -> None:
    lane = await open_lane(environment | {"LANEMESH_PREFLIGHT_LOCK_WAIT_MS": "0"})
    other = sqlite3.connect(_file(environment), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        await lane.upsert([UpsertRequest(sequence=1, document=Document(id="a", content="word"))])
    other.close()
    await lane.close()


async def test_a_passed_deadline_stores_nothing(lane: PreflightLane, store) -> None:
    with ambient(Deadline.after(-1.0)), pytest.raises(DeadlinePassed):
        await store(Document(id="a", content="word"))
    assert (await lane.stats([])).documents == 0


async def test_the_last_of_a_batch_counts(lane: PreflightLane, store) -> None:
    await store(Document(id="a", content="first"), Document(id="a", content="second"))
    assert (await lane.stats([])).documents == 1


def test_words_are_letters_of_title_and_content() -> None:
    document = Document(title="Größe THE Kinase", content="kinase p53 snake_case abc " + "x" * 40)
    assert words_of(document)[:4] == ["größe", "kinase", "snake", "case"]


WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), max_size=4).map(" ".join)
LABELS = st.lists(st.just("secret"), max_size=1)
STEPS = st.lists(st.tuples(st.sampled_from("abc"), WORDS | st.none(), LABELS), max_size=12)


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
async def test_counts_agree_with_a_plain_reference(tmp_path_factory, steps) -> None:
    path = tmp_path_factory.mktemp("vocabulary") / "words.sqlite3"
    vocabulary = await Vocabulary.open(path, readers=1, lock_wait=1.0, listed=None)
    kept: dict[str, set[str]] = {}
    for identity, text, labels in steps:
        if text is None:
            assert await vocabulary.forget([identity]) == (identity in kept)
        else:
            await vocabulary.learn([Document(id=identity, content=text, access_labels=labels)])
        kept.pop(identity, None)
        if text is not None and not labels:
            kept[identity] = set(text.split())
    counts = await vocabulary.counts(["alpha", "beta", "gamma", "delta", "epsilon"])
    assert counts == {word: count for word in counts if (count := sum(word in words for words in kept.values()))}
    assert set(counts) == set().union(*kept.values())
    await vocabulary.close()


async def test_deleting_nothing(lane: PreflightLane) -> None:
    assert await lane.delete(DeleteRequest()) == 0
