"""A clock that stands still until a test moves it, and a lane that tells when its handler is gone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from tests.support import FakeLane


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@dataclass
class Watched(FakeLane):
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        try:
            await super().retrieve(request, reply)
        finally:
            self.ended.set()
