"""The collection on a Qdrant server: created on first use, compared with the model otherwise."""

from __future__ import annotations

from qdrant_client import AsyncQdrantClient, models

from services.embedding.models import Model
from services.runtime.errors import StartupError
from services.vector.payload import COLLECTION, INTEGER_FIELDS, KEYWORD_FIELDS

INDEXES = {
    **dict.fromkeys(KEYWORD_FIELDS, models.PayloadSchemaType.KEYWORD),
    **dict.fromkeys(INTEGER_FIELDS, models.PayloadSchemaType.INTEGER),
}


async def prepare(client: AsyncQdrantClient, model: Model, *, quantised: bool) -> None:
    """Makes the collection fit for use; StartupError when it holds the vectors of another model."""
    if not await client.collection_exists(COLLECTION):
        await _create(client, model, quantised)
    info = await client.get_collection(COLLECTION)
    _compare(info, model)
    for field, schema in INDEXES.items():
        # Also completes a creation that was interrupted.
        if field not in info.payload_schema:
            await client.create_payload_index(COLLECTION, field, field_schema=schema, wait=True)


async def _create(client: AsyncQdrantClient, model: Model, quantised: bool) -> None:
    int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
    await client.create_collection(
        COLLECTION,
        vectors_config=models.VectorParams(size=model.dimension, distance=models.Distance.COSINE),
        quantization_config=models.ScalarQuantization(scalar=int8) if quantised else None,
        on_disk_payload=True,
        metadata={"model": model.name},
    )


def _compare(info: models.CollectionInfo, model: Model) -> None:
    vectors = info.config.params.vectors
    size = vectors.size if isinstance(vectors, models.VectorParams) else None
    if size != model.dimension:
        message = f"the collection {COLLECTION} holds vectors of dimension {size}"
        raise StartupError(f"{message}, the embedder {model.name} makes {model.dimension}")
    # A collection that was made by other means may not name its model.
    named = (info.config.metadata or {}).get("model", model.name)
    if named != model.name:
        raise StartupError(f"the collection {COLLECTION} holds vectors of {named}, not of {model.name}")
