"""A process that ingests without end and says after every batch that it was acknowledged."""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from pathlib import Path

from lanemesh.v1.evidence_pb2 import Document

from tests.vector.lanes import lane_on, store


async def main(folder: Path) -> None:
    async with lane_on("edge", folder) as lane:
        for batch in count(1):
            text = f"batch{batch}. " * 100
            await store(lane, *(Document(id=f"{batch}-{number}", content=text) for number in range(3)))
            print(batch, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
