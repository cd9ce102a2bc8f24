"""What the fusion tests share: the lane table."""

from __future__ import annotations

import pytest

from services.runtime.registry import Table, load_table


@pytest.fixture(scope="session")
def table() -> Table:
    return load_table()
