"""A project in a temporary folder, with its lane open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.local.lane import open_lane
from tests.local.project import Project


@pytest.fixture
async def project(tmp_path: Path) -> AsyncIterator[Project]:
    root = tmp_path / "shop"
    root.mkdir()
    lane = await open_lane({"LANEMESH_PROJECT_ROOT": str(root)})
    yield Project(root, lane)
    await lane.close()
