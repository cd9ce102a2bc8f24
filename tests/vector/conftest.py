"""A vector lane on each engine in turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.vector.lane import VectorLane
from tests.vector.lanes import KINDS, lane_on
from tests.vector.qdrant_server import QdrantServer, qdrant_server


@pytest.fixture(params=KINDS)
async def lane(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VectorLane]:
    async with lane_on(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[QdrantServer]:
    async with qdrant_server(tmp_path) as running:
        yield running
