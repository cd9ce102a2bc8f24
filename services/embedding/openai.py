"""Any endpoint that speaks OpenAI's /v1/embeddings. The key travels in the header and nowhere else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

import aiohttp
import numpy as np

from services.embedding.embedder import Rows
from services.embedding.http_errors import raise_for, retry_after, translated
from services.embedding.models import Model
from services.runtime import deadline
from services.runtime.deadline import Deadline
from services.runtime.errors import BadReply

# What one request carries at most; endpoints bound both the number of texts and their tokens.
BATCH_TEXTS = 128
BATCH_CHARACTERS = 100_000
# Most bytes of one number in a reply, and of everything around the numbers.
NUMBER_BYTES = 32
ENVELOPE_BYTES = 65_536
PIECE_BYTES = 65_536
# Statuses that ask to come again later.
LATER = frozenset({429, 503})


class OpenAIEmbedder:
    """A model behind HTTP."""

    def __init__(self, model: Model, url: str, key: str | None, *, time_out: float, native: bool) -> None:
        self.model = model
        self._url = f"{url.rstrip('/')}/embeddings"
        self._time_out = time_out
        # Endpoints other than OpenAI's refuse a field they do not know.
        self._fields: dict[str, object] = {} if native else {"dimensions": model.dimension}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._session = aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=None))

    async def embed_query(self, text: str) -> Rows:
        """The vector of a question."""
        rows: Rows = (await self._embed([text]))[0]
        return rows

    async def embed_passages(self, texts: Sequence[str]) -> Rows:
        """The vectors of passages, request by request."""
        rows = [await self._embed(batch) for batch in _batches(texts)]
        return np.concatenate(rows) if rows else np.empty((0, self.model.dimension), dtype=np.float32)

    async def close(self) -> None:
        """Closes the connections."""
        await self._session.close()

    async def _embed(self, texts: Sequence[str]) -> Rows:
        until = deadline.current() or Deadline.after(self._time_out)
        with translated():
            async with asyncio.timeout(until.require()):
                return _rows(await self._ask(texts, until), len(texts), self.model.dimension)

    async def _ask(self, texts: Sequence[str], until: Deadline) -> bytes:
        """The body of a good reply; a refusal that names a time is tried again when that time comes before the end."""
        body = {"model": self.model.name, "input": list(texts), "encoding_format": "float", **self._fields}
        limit = ENVELOPE_BYTES + len(texts) * self.model.dimension * NUMBER_BYTES
        while True:
            # A redirect would carry the key to a stranger.
            async with self._session.post(self._url, json=body, allow_redirects=False) as response:
                if response.status == 200:
                    return await _bounded(response, limit)
                wait = retry_after(response.headers)
                if response.status not in LATER or wait is None or wait >= until.remaining():
                    raise_for(response.status, wait)
            await asyncio.sleep(wait)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == BATCH_TEXTS or size + len(text) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


async def _bounded(response: aiohttp.ClientResponse, limit: int) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_chunked(PIECE_BYTES):
        body += piece
        if len(body) > limit:
            raise BadReply("the embedding endpoint sent more than was asked for")
    return bytes(body)


def _rows(body: bytes, count: int, dimension: int) -> Rows:
    """The vectors in the order of the texts, brought to unit length; BadReply when they are not what was asked for."""
    try:
        data: list[dict[str, Any]] = json.loads(body)["data"]
        if sorted(item["index"] for item in data) != list(range(count)):
            raise BadReply(f"the embedding endpoint did not answer each of {count} texts once")
        data.sort(key=lambda item: int(item["index"]))
        rows = np.array([item["embedding"] for item in data], dtype=np.float32)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise BadReply("the embedding endpoint sent something that is no list of vectors") from error
    if rows.shape != (count, dimension):
        raise BadReply(f"the embedding endpoint sent vectors of another dimension than {dimension}")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise BadReply("the embedding endpoint sent numbers without a direction")
    unit: Rows = rows / lengths
    return unit
