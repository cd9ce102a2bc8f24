"""MiniLM inside the process, by onnxruntime. Questions have a thread of their own and never wait for passages."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Encoding, Tokenizer

from services.embedding.embedder import Rows
from services.embedding.models import MINILM, Files
from services.runtime import deadline
from services.runtime.errors import StartupError

# Tokens the model was made for; what is beyond is not read.
WINDOW = 256
# Tokens of one batch of passages. Larger batches are no faster on one core and hold memory and the core for longer.
# Numbers of 8 bits are scaled over a whole batch: there each text goes alone, lest its company change its vector.
BATCH_TOKENS = {"fp32": 512, "int8": 1}


class MiniLM:
    """The embedded default: all-MiniLM-L6-v2, mean pooling and normalisation inside the graph."""

    model = MINILM

    def __init__(self, files: Files, threads: int, batch_tokens: int) -> None:
        self._batch_tokens = batch_tokens
        self._session = _session(files.graph, threads)
        self._tokenizer = Tokenizer.from_file(str(files.tokenizer))
        self._tokenizer.enable_truncation(WINDOW)
        self._tokenizer.no_padding()
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="embed-query")
        self._passages = ThreadPoolExecutor(1, thread_name_prefix="embed-passages")

    @classmethod
    async def open(cls, folder: Path, precision: str, threads: int) -> MiniLM:
        """The model, its files assembled in `folder` on first use."""
        files = Files.of(folder, precision)
        if not files.there():
            await _assemble(precision, folder)
        return await asyncio.to_thread(cls, files, threads, BATCH_TOKENS[precision])

    async def embed_query(self, text: str) -> Rows:
        """The vector of a question."""
        _require_time()
        loop = asyncio.get_running_loop()
        rows: Rows = await loop.run_in_executor(self._queries, self._embed_text, text)
        return rows

    async def embed_passages(self, texts: Sequence[str]) -> Rows:
        """The vectors of passages, batch by batch, so that a caller who leaves is noticed between two batches."""
        loop = asyncio.get_running_loop()
        rows = np.empty((len(texts), MINILM.dimension), dtype=np.float32)
        encodings = await loop.run_in_executor(self._passages, self._tokenizer.encode_batch_fast, list(texts))
        for batch in _batches([len(encoding.ids) for encoding in encodings], self._batch_tokens):
            _require_time()
            chosen = [encodings[place] for place in batch]
            rows[batch] = await loop.run_in_executor(self._passages, self._run, chosen)
        return rows

    async def close(self) -> None:
        """Waits for what is under way."""
        await asyncio.to_thread(self._queries.shutdown)
        await asyncio.to_thread(self._passages.shutdown)

    def _embed_text(self, text: str) -> Rows:
        rows: Rows = self._run([self._tokenizer.encode(text)])[0]
        return rows

    def _run(self, encodings: Sequence[Encoding]) -> Rows:
        length = max(len(encoding.ids) for encoding in encodings)
        ids, mask = np.zeros((2, len(encodings), length), dtype=np.int64)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        rows: Rows = self._session.run(["vectors"], {"ids": ids, "mask": mask})[0]
        return rows


def _batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Places of texts of like length, so that little is padding; a batch has at most so many tokens or is one text."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > most:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _session(graph: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that wait by spinning take the core from whoever has work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


async def _assemble(precision: str, folder: Path) -> None:
    command = (sys.executable, "-m", "services.embedding.assemble", precision, str(folder))
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, errors = await process.communicate()
    if process.returncode != 0:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise StartupError(f"the embedding model ({precision}, in {folder}) cannot be assembled: {last}")


def _require_time() -> None:
    until = deadline.current()
    if until is not None:
        until.require()
