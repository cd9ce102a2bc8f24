"""The files of the embedded collection: created whole on first use, compared with the model at every start."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from services.embedding.models import Model
from services.runtime.errors import StartupError
from services.vector.edge_errors import refusing_to_start
from services.vector.payload import INTEGER_FIELDS, KEYWORD_FIELDS

# Beside the library's own files: the model whose vectors these are.
DESCRIPTION = "model.json"
BLOCK = 512


def open_shard(folder: Path, model: Model, quantised: bool) -> edge.EdgeShard:
    """The collection in the folder; StartupError when it is of another model or cannot be opened."""
    with refusing_to_start(folder):
        if not folder.exists():
            _create(folder, model, quantised)
        _compare(json.loads((folder / DESCRIPTION).read_text(encoding="utf-8")), model, folder)
        return edge.EdgeShard.load(str(folder), _config(model, quantised))


def optimise(folder: Path) -> bool:
    """Indexes what was written since the last time; returns whether there was anything to do."""
    with refusing_to_start(folder):
        shard = edge.EdgeShard.load(str(folder))
        try:
            return shard.optimize()
        finally:
            shard.close()


def size_of(folder: Path) -> int:
    """Bytes on disk. Files are laid out larger than what is in them, so that blocks are counted."""
    return sum(file.stat().st_blocks * BLOCK for file in folder.rglob("*"))


def _create(folder: Path, model: Model, quantised: bool) -> None:
    """Makes the collection beside its place and moves it there when it is whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".creating-") as temporary:
        made = Path(temporary) / folder.name
        shard = edge.EdgeShard.create(str(made), _config(model, quantised))
        for fields, schema in (
            (KEYWORD_FIELDS, edge.PayloadSchemaType.Keyword),
            (INTEGER_FIELDS, edge.PayloadSchemaType.Integer),
        ):
            for field in fields:
                shard.update(edge.UpdateOperation.create_field_index(field, schema))
        shard.close()
        description = {"model": model.name, "dimension": model.dimension}
        (made / DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")
        made.rename(folder)


def _compare(found: dict[str, Any], model: Model, folder: Path) -> None:
    if found["dimension"] != model.dimension:
        message = f"the collection {folder} holds vectors of dimension {found['dimension']}"
        raise StartupError(f"{message}, the embedder {model.name} makes {model.dimension}")
    if found["model"] != model.name:
        raise StartupError(f"the collection {folder} holds vectors of {found['model']}, not of {model.name}")


def _config(model: Model, quantised: bool) -> edge.EdgeConfig:
    quantisation = edge.ScalarQuantizationConfig(type=edge.ScalarType.Int8, always_ram=True) if quantised else None
    return edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(size=model.dimension, distance=edge.Distance.Cosine),
        quantization_config=quantisation,
        max_search_threads=1,
    )
