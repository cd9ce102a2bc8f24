"""The engines of the lane, each ready to be opened: embedded, a server speaking Meilisearch's protocol, a real one."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from meilisearch import Client

from tests.keyword.fake_meili import FakeMeili, serving

KEY = "a-key-of-this-test"
REAL = os.environ.get("MEILI_URL", "")
EMBEDDED, FAKE, SERVER = "sqlite-fts5", "meilisearch", "meilisearch-server"
ENGINES = [
    EMBEDDED,
    FAKE,
    pytest.param(SERVER, marks=pytest.mark.skipif(not REAL, reason="MEILI_URL names no Meilisearch server")),
]


@asynccontextmanager
async def environment_of(engine: str, home: Path | str) -> AsyncIterator[dict[str, str]]:
    """The settings of a lane with an index of its own."""
    plain = {"LANEMESH_HOME": str(home), "LANEMESH_KEYWORD_READERS": "2", "MEILI_POLL_MS": "1"}
    if engine == FAKE:
        async with serving(FakeMeili(key=KEY)) as fake:
            yield plain | {"MEILI_URL": fake.url, "MEILI_API_KEY": KEY}
    elif engine == SERVER:
        name, key = f"test_{uuid.uuid4().hex}", os.environ.get("MEILI_API_KEY", "")
        yield plain | {"MEILI_URL": REAL, "MEILI_API_KEY": key, "MEILI_INDEX": name}
        Client(REAL, key or None).delete_index(name)
    else:
        yield plain
