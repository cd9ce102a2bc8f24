"""The settings choose one embedder, and refuse what contradicts itself or says too little."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from services.embedding.choose import open_embedder
from services.embedding.models import MINILM
from services.runtime.errors import StartupError
from tests.embedding.endpoint import DIMENSION, serving

OPENAI = {"LANEMESH_EMBEDDER": "openai", "LANEMESH_EMBEDDING_KEY": "k"}


async def test_minilm_is_the_default(home: Path) -> None:
    embedder = await open_embedder({"LANEMESH_HOME": str(home)})
    assert embedder.model == MINILM
    await embedder.close()


async def test_thresholds_can_be_set(home: Path) -> None:
    embedder = await open_embedder({"LANEMESH_HOME": str(home), "LANEMESH_EMBEDDING_THRESHOLD": "0.4"})
    assert (embedder.model.relevant, embedder.model.relevant_academic) == (0.4, 0.4)
    assert MINILM.relevant != 0.4
    await embedder.close()


async def test_model_that_was_made_before_needs_no_home(home: Path) -> None:
    await (await open_embedder({"LANEMESH_HOME": str(home)})).close()
    nowhere = {"LANEMESH_HOME": os.devnull, "LANEMESH_MODELS": str(home / "models")}
    await (await open_embedder(nowhere)).close()


@pytest.mark.parametrize(
    ("environment", "dimension", "relevant"),
    [
        ({}, 3072, 0.25),
        ({"LANEMESH_EMBEDDING_DIMENSION": "1024"}, 1024, 0.25),
        ({"LANEMESH_EMBEDDING_MODEL": "text-embedding-ada-002"}, 1536, 0.7),
        (
            {
                "LANEMESH_EMBEDDING_MODEL": "own",
                "LANEMESH_EMBEDDING_DIMENSION": "5",
                "LANEMESH_EMBEDDING_THRESHOLD": "0.6",
            },
            5,
            0.6,
        ),
    ],
)
async def test_models_behind_an_endpoint(environment: dict[str, str], dimension: int, relevant: float) -> None:
    embedder = await open_embedder(OPENAI | environment)
    assert (embedder.model.dimension, embedder.model.relevant) == (dimension, relevant)
    await embedder.close()


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"LANEMESH_EMBEDDER": "openai"}, "LANEMESH_EMBEDDING_KEY"),
        ({"LANEMESH_EMBEDDER": "other"}, "LANEMESH_EMBEDDER"),
        ({"LANEMESH_EMBEDDING_URL": "http://x"}, "LANEMESH_EMBEDDING_URL"),
        ({"LANEMESH_EMBEDDING_MODEL": "m"}, "LANEMESH_EMBEDDER=openai"),
        (OPENAI | {"LANEMESH_EMBEDDING_URL": "x"}, "LANEMESH_EMBEDDING_URL"),
        (OPENAI | {"LANEMESH_EMBEDDING_MODEL": "own"}, "LANEMESH_EMBEDDING_DIMENSION"),
        (OPENAI | {"LANEMESH_EMBEDDING_DIMENSION": "5000"}, "LANEMESH_EMBEDDING_DIMENSION=5000"),
        (
            OPENAI | {"LANEMESH_EMBEDDING_MODEL": "text-embedding-ada-002", "LANEMESH_EMBEDDING_DIMENSION": "5"},
            "has 1536",
        ),
    ],
)
async def test_half_configuration_is_refused(environment: dict[str, str], named: str) -> None:
    with pytest.raises(StartupError, match=named):
        await open_embedder(environment)


async def test_a_question_asked_again_is_remembered() -> None:
    async with serving() as endpoint:
        embedder = await open_embedder(
            {
                "LANEMESH_EMBEDDER": "openai",
                "LANEMESH_EMBEDDING_URL": endpoint.url,
                "LANEMESH_EMBEDDING_MODEL": "own",
                "LANEMESH_EMBEDDING_DIMENSION": str(DIMENSION),
                "LANEMESH_EMBEDDING_THRESHOLD": "0.5",
                "LANEMESH_EMBEDDING_RECENT": "2",
            }
        )
        for question in ("a", "bb", "a", "ccc", "a", "bb"):
            await embedder.embed_query(question)
        asked = [body["input"] for body in endpoint.bodies]
        assert asked == [["a"], ["bb"], ["ccc"], ["bb"]]
        await embedder.embed_passages(["a"])
        assert len(endpoint.bodies) == 5
        await embedder.close()
