"""What the fusion tests share: the lane table, and properties that do not look at the clock."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from services.runtime.registry import Table, load_table

settings.register_profile("no-clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no-clock")


@pytest.fixture(scope="session")
def table() -> Table:
    return load_table()
