"""The embedder that the settings choose."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from services.embedding.embedder import Embedder
from services.embedding.models import REMOTE, Model
from services.embedding.recent import Recent
from services.runtime.errors import StartupError
from services.runtime.settings import load, setting

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "text-embedding-3-large"
# Figures of a model that no table knows.
UNKNOWN_PASSAGE = 200
UNKNOWN_DUPLICATE = 0.85


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """Which model embeds, and how."""

    home: Path = setting("LANEMESH_HOME", Path("~/.lanemesh").expanduser())
    # An image has its model beside the code, where nothing is written.
    models: Path | None = setting("LANEMESH_MODELS", None)
    embedder: Literal["minilm", "openai"] = setting("LANEMESH_EMBEDDER", "minilm")
    precision: Literal["fp32", "int8"] = setting("LANEMESH_EMBEDDING_PRECISION", "int8")
    threads: int = setting("LANEMESH_EMBEDDING_THREADS", 1, low=1, high=64)
    recent: int = setting("LANEMESH_EMBEDDING_RECENT", 256, low=0, high=100_000)
    url: str | None = setting("LANEMESH_EMBEDDING_URL", None)
    key: str | None = setting("LANEMESH_EMBEDDING_KEY", None)
    model: str | None = setting("LANEMESH_EMBEDDING_MODEL", None)
    dimension: int | None = setting("LANEMESH_EMBEDDING_DIMENSION", None, low=1, high=65_536)
    threshold: float | None = setting("LANEMESH_EMBEDDING_THRESHOLD", None, low=-1.0, high=1.0)
    threshold_academic: float | None = setting("LANEMESH_EMBEDDING_THRESHOLD_ACADEMIC", None, low=-1.0, high=1.0)
    time_out_ms: int = setting("LANEMESH_EMBEDDING_TIMEOUT_MS", 30_000, low=1, high=600_000)


async def open_embedder(environment: Mapping[str, str]) -> Embedder:
    """The embedder, ready to be asked; StartupError when the settings contradict each other or say too little."""
    settings = load(EmbeddingSettings, environment)
    embedder = await _minilm(settings) if settings.embedder == "minilm" else _openai(settings)
    return Recent(embedder, settings.recent)


async def _minilm(settings: EmbeddingSettings) -> Embedder:
    for name in ("url", "key", "model", "dimension"):
        if getattr(settings, name) is not None:
            raise StartupError(f"LANEMESH_EMBEDDING_{name.upper()} needs LANEMESH_EMBEDDER=openai")
    # The libraries of either embedder are large; a process loads those of its own.
    from services.embedding.minilm import MiniLM

    embedder = await MiniLM.open(settings.models or settings.home / "models", settings.precision, settings.threads)
    embedder.model = _calibrated(embedder.model, settings)
    return embedder


def _openai(settings: EmbeddingSettings) -> Embedder:
    from services.embedding.openai import OpenAIEmbedder

    url = settings.url or OPENAI_URL
    if not url.startswith(("http://", "https://")):
        raise StartupError("LANEMESH_EMBEDDING_URL must begin with http:// or https://")
    if url == OPENAI_URL and settings.key is None:
        raise StartupError(f"LANEMESH_EMBEDDING_KEY is required for {OPENAI_URL}")
    known = REMOTE.get(settings.model or OPENAI_MODEL)
    model = _calibrated(known or _unknown(settings), settings)
    native = known is None or known.dimension == model.dimension
    return OpenAIEmbedder(model, url, settings.key, time_out=settings.time_out_ms / 1_000, native=native)


def _unknown(settings: EmbeddingSettings) -> Model:
    if settings.dimension is None or settings.threshold is None:
        message = f"LANEMESH_EMBEDDING_MODEL={settings.model}: its size and what its cosines mean are not known here; "
        raise StartupError(message + "LANEMESH_EMBEDDING_DIMENSION and LANEMESH_EMBEDDING_THRESHOLD are required")
    relevant = settings.threshold
    return Model(str(settings.model), settings.dimension, UNKNOWN_PASSAGE, relevant, relevant, UNKNOWN_DUPLICATE)


def _calibrated(model: Model, settings: EmbeddingSettings) -> Model:
    """The model with the operator's own figures in place of the table's."""
    dimension = settings.dimension or model.dimension
    if dimension != model.dimension and not (model.shortens and dimension < model.dimension):
        raise StartupError(f"LANEMESH_EMBEDDING_DIMENSION={dimension}: {model.name} has {model.dimension}")
    relevant = model.relevant if settings.threshold is None else settings.threshold
    academic = (
        max(relevant, model.relevant_academic) if settings.threshold_academic is None else settings.threshold_academic
    )
    return dataclasses.replace(model, dimension=dimension, relevant=relevant, relevant_academic=academic)
