"""The embedded collection over time: what is acknowledged stays, what is foreign is refused, nobody is kept waiting."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.embedding.models import Model
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import STATUS, DeadlinePassed, LanemeshError, StartupError, Unavailable
from services.vector.edge_errors import TRANSLATION, translate
from services.vector.edge_shard import DESCRIPTION, optimise
from services.vector.lane import VectorLane
from services.vector.payload import COLLECTION
from services.vector.qdrant_edge import EdgeEngine
from tests.vector.lanes import WORDS, WordEmbedder, found, lane_on, search, store

ROOT = Path(__file__).parents[2]


async def test_acknowledged_documents_survive(tmp_path: Path) -> None:
    async with lane_on("edge", tmp_path) as first:
        await store(first, Document(id="a", content="zebra"))
    async with lane_on("edge", tmp_path) as second:
        assert await found(second, "zebra") == {"a"}


async def test_killed_half_way_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Every line the process prints acknowledges one more batch of three documents; then it is killed in the next."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.vector.ingesting", str(tmp_path)),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'protos' / 'gen'}"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    acknowledged = 0
    async with asyncio.timeout(120):
        while acknowledged < 5:
            acknowledged = int(await process.stdout.readline())
    process.kill()
    rest, _ = await process.communicate()
    acknowledged = max([acknowledged, *map(int, rest.split())])
    async with lane_on("edge", tmp_path) as lane:
        stats = await lane.stats([])
        assert stats.documents >= 3 * acknowledged
        for batch in range(1, acknowledged + 1):
            assert await found(lane, f"batch{batch}") >= {f"{batch}-{number}" for number in range(3)}
        await store(lane, Document(id="after", content="zebra"))
        assert await found(lane, "zebra") == {"after"}


async def test_searching_goes_on_while_writing(tmp_path: Path) -> None:
    async with lane_on("edge", tmp_path) as lane:
        await store(lane, Document(id="always", content="zebra"))
        writing = asyncio.create_task(store(lane, *(Document(id=str(n), content="giraffe") for n in range(100))))
        seen = 0
        while not writing.done():
            assert await found(lane, "zebra") == {"always"}
            seen += 1
        await writing
        assert seen > 3
        assert (await lane.stats([])).documents == 101


async def test_dimension_mismatch_names_both(tmp_path: Path) -> None:
    async with lane_on("edge", tmp_path):
        pass
    with pytest.raises(StartupError, match=r"dimension 64.*makes 32"):
        await EdgeEngine.open(tmp_path / "collection", Model("words", 32, 40, 0.3, 0.3, 0.9), quantised=False)
    with pytest.raises(StartupError, match="holds vectors of words, not of other"):
        await EdgeEngine.open(tmp_path / "collection", Model("other", 64, 40, 0.3, 0.3, 0.9), quantised=False)


async def test_foreign_folder_refuses_to_start(tmp_path: Path) -> None:
    (tmp_path / "collection").mkdir()
    with pytest.raises(StartupError, match="cannot be opened"):
        await EdgeEngine.open(tmp_path / "collection", WORDS, quantised=False)
    (tmp_path / "collection" / DESCRIPTION).write_text("this is no description")
    with pytest.raises(StartupError, match="cannot be opened"):
        await EdgeEngine.open(tmp_path / "collection", WORDS, quantised=False)


async def test_two_processes_do_not_share_a_collection(tmp_path: Path) -> None:
    async with lane_on("edge", tmp_path):
        with pytest.raises(StartupError, match="cannot be opened"):
            await EdgeEngine.open(tmp_path / "collection", WORDS, quantised=False)


async def test_quantised_collection_answers(tmp_path: Path) -> None:
    engine = await EdgeEngine.open(tmp_path / COLLECTION, WORDS, quantised=True)
    lane = VectorLane(engine, WordEmbedder())
    await store(lane, Document(id="a", content="zebra"))
    assert await found(lane, "zebra") == {"a"}
    await lane.close()


async def test_collection_is_indexed_while_nobody_serves_it(tmp_path: Path) -> None:
    async with lane_on("edge", tmp_path) as lane:
        await store(lane, Document(id="a", content="zebra"), Document(id="b", content="giraffe"))
        with pytest.raises(StartupError, match="cannot be opened"):
            optimise(tmp_path / "collection")
    optimise(tmp_path / "collection")
    async with lane_on("edge", tmp_path) as lane:
        assert await found(lane, "zebra") == {"a"}


async def test_passed_deadline(tmp_path: Path) -> None:
    async with lane_on("edge", tmp_path) as lane:
        with ambient(Deadline.after(-1.0)), pytest.raises(DeadlinePassed):
            await search(lane, "zebra")


class RunsOut:
    """A clock that stands still for a number of looks and then runs out."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def __call__(self) -> float:
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 2.0


async def test_time_that_runs_out_between_steps_leaves_what_was_found(tmp_path: Path) -> None:
    async with lane_on("edge", tmp_path) as lane:
        crowd = Document(id="crowd", content="zebra crossing ahead. " * 400)
        await store(lane, crowd, Document(id="other", content="zebra crossing behind the other"))
        reply = RetrieveResponse()
        # One look for the search and one for its documents: the second, wider search comes too late.
        with ambient(Deadline(1.0, RunsOut(looks=2))), pytest.raises(DeadlinePassed):
            await lane.retrieve(RetrieveRequest(query="zebra crossing ahead", max_results=2), reply)
        assert [evidence.document.id for evidence in reply.evidence] == ["crowd"]


async def test_closed_collection_is_unavailable(tmp_path: Path) -> None:
    engine = await EdgeEngine.open(tmp_path / "collection", WORDS, quantised=False)
    engine._shard.close()
    with pytest.raises(Unavailable):
        await engine.check()


@pytest.mark.parametrize("start", [*TRANSLATION, "something new"])
def test_errors_keep_the_library_s_text_to_themselves(start: str) -> None:
    translated = translate(Exception(f"{start}: secret text"))
    assert isinstance(translated, LanemeshError)
    assert type(translated) in STATUS
    assert "secret" not in translated.message
