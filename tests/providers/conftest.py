"""A simulator for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.simulator.server import Simulator, simulating


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    async with simulating() as running:
        yield running
