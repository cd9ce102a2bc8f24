"""A project on disk and the lane over it, asked as the server asks it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.local.lane import LocalLane


@dataclass
class Project:
    """Writes files and asks questions."""

    root: Path
    lane: LocalLane

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    async def ask(self, query: str, max_results: int = 10, **fields: Any) -> RetrieveResponse:
        reply = RetrieveResponse()
        await self.lane.retrieve(RetrieveRequest(query=query, max_results=max_results, **fields), reply)
        return reply

    async def ids(self, query: str) -> list[str]:
        return [evidence.document.id for evidence in (await self.ask(query)).evidence]
