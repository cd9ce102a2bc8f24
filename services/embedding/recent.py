"""An embedder that remembers its latest questions, since the same question is often asked again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from services.embedding.embedder import Embedder, Rows
from services.runtime import spans, telemetry


class Recent:
    """Passes everything on, and keeps the vectors of the latest questions."""

    def __init__(self, embedder: Embedder, size: int) -> None:
        self._embedder = embedder
        self._size = size
        self._vectors: OrderedDict[str, Rows] = OrderedDict()
        self.model = embedder.model

    async def embed_query(self, text: str) -> Rows:
        """The vector of a question, remembered or new."""
        vector = self._vectors.get(text)
        with telemetry.span(spans.EMBED, model=self.model.name, cache="HIT" if vector is not None else "MISS"):
            if vector is None:
                vector = await self._embedder.embed_query(text)
                # Shared from now on.
                vector.flags.writeable = False
        self._vectors[text] = vector
        self._vectors.move_to_end(text)
        if len(self._vectors) > self._size:
            self._vectors.popitem(last=False)
        return vector

    async def embed_passages(self, texts: Sequence[str]) -> Rows:
        """The vectors of passages, which are not remembered."""
        return await self._embedder.embed_passages(texts)

    async def close(self) -> None:
        """Closes the embedder."""
        await self._embedder.close()
