"""One Envoy for each module of tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.envoy.running import Door, envoyed
from tests.support import FakeLane, evidence


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Door]:
    """Two replicas of one lane and one of another, behind Envoy with its defaults."""
    lanes = {
        "vector": [FakeLane([evidence("a", "Checkout reserves stock.")]) for _ in range(2)],
        "keyword": [FakeLane([evidence("b", "Stock is reserved at checkout.")])],
    }
    async with envoyed(tmp_path_factory.mktemp("envoy"), lanes) as running:
        yield running
