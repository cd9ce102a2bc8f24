"""What turns text into vectors. One file per embedder implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from services.embedding.models import Model

# Vectors of unit length, one per row; a single vector has one axis.
Rows: TypeAlias = NDArray[np.float32]


class Embedder(Protocol):
    """A model that embeds. Every call keeps the ambient deadline and raises services.runtime.errors."""

    model: Model

    async def embed_query(self, text: str) -> Rows:
        """The vector of a question."""

    async def embed_passages(self, texts: Sequence[str]) -> Rows:
        """The vectors of texts to be found, one row each, in their order."""

    async def close(self) -> None:
        """Gives back threads and connections."""
