"""MiniLM: the same text has the same vector however it is embedded, like texts are near, and time is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from services.embedding import assemble
from services.embedding.minilm import MiniLM, _batches
from services.embedding.models import Files
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import DeadlinePassed, StartupError

TEXTS = [
    "Cats sleep for most of the day.",
    "A feline spends the day asleep.",
    "The bond market fell sharply on Tuesday.",
    "",
    "Sehr kurze Sätze: naïve 🙂.",
    "one more " * 400,
]


@pytest.fixture(params=["fp32", "int8"])
async def embedder(request: pytest.FixtureRequest, home: Path):
    opened = await MiniLM.open(home / "models", request.param, threads=1)
    yield opened
    await opened.close()


async def test_rows_are_vectors_of_unit_length(embedder: MiniLM) -> None:
    rows = await embedder.embed_passages(TEXTS)
    assert (rows.shape, rows.dtype) == ((len(TEXTS), 384), np.float32)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert (await embedder.embed_passages([])).shape == (0, 384)


async def test_known_similarities(embedder: MiniLM) -> None:
    cats, felines, bonds = await embedder.embed_passages(TEXTS[:3])
    assert cats @ felines > 0.6
    assert abs(cats @ bonds) < 0.2


async def test_company_in_a_batch_does_not_matter(embedder: MiniLM) -> None:
    together = await embedder.embed_passages(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        assert await embedder.embed_query(text) @ row > 0.99999


async def test_int8_is_close_to_fp32(home: Path) -> None:
    exact, quick = [await MiniLM.open(home / "models", precision, threads=1) for precision in ("fp32", "int8")]
    for text in TEXTS:
        assert await exact.embed_query(text) @ await quick.embed_query(text) > 0.97
    await exact.close()
    await quick.close()


async def test_questions_do_not_wait_for_passages(embedder: MiniLM) -> None:
    ingesting = asyncio.create_task(embedder.embed_passages(["long " * 300] * 40))
    await asyncio.sleep(0)
    for _ in range(3):
        await embedder.embed_query("a question")
    assert not ingesting.done()
    await ingesting


async def test_passed_deadline(embedder: MiniLM) -> None:
    with ambient(Deadline.after(-1.0)):
        with pytest.raises(DeadlinePassed):
            await embedder.embed_query("a question")
        with pytest.raises(DeadlinePassed):
            await embedder.embed_passages(["a passage"])


def test_batches_hold_texts_of_like_length_within_the_limit() -> None:
    lengths = [5, 256, 7, 256, 6, 256, 1024]
    assert list(_batches(lengths, 512)) == [[0, 4, 2], [1, 3], [5], [6]]
    assert list(_batches(lengths[:3], 1)) == [[0], [2], [1]]
    assert list(_batches([], 512)) == []


def test_assembly_leaves_whole_files(tmp_path: Path) -> None:
    files = Files.of(tmp_path / "models", "int8")
    assemble.assemble("int8", files.graph.parent)
    assert files.there()
    assert set(files.graph.parent.iterdir()) == {files.graph, files.tokenizer}


async def test_model_that_cannot_be_assembled_refuses_to_start(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where a folder must be")
    with pytest.raises(StartupError, match="cannot be assembled"):
        await MiniLM.open(tmp_path / "models", "int8", threads=1)
