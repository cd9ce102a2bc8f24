"""`make bench-index DATA=folder`: the index lanes on judged collections, quality, speed and memory; writes INDEX.md.

Everything goes through a mesh of its own as `lanemesh up` starts it, but for the cost of a call, where each lane is
asked over gRPC and in process in turn. The parts can be measured one by one; what was measured before is kept.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import uvloop
from lanemesh.v1.index_pb2 import UpsertRequest

from bench.index_mesh import Mesh, mesh
from bench.index_page import page
from bench.local_lane import paired, stored_per_second, timed
from client import beir, metrics, reading
from client.records import Record
from services.embedding.choose import open_embedder
from services.embedding.embedder import Embedder, Rows
from services.runtime.errors import InvalidRequest
from services.vector.lane import VectorLane
from services.vector.payload import COLLECTION
from services.vector.qdrant_edge import EdgeEngine

HERE = Path(__file__).parent
FOUND = HERE / "index.json"
SCIFACT, CRANFIELD, FILMS = "scifact", "cranfield", "metaqa"
PAIR = "vector,keyword"
HOPS = ("1-hop", "2-hop")
RESULTS = 20
# Documents of which the speed of the vector lane is taken: embedding all of them says the same and takes minutes.
EMBEDDED = 500
EMBEDDED_AT_ONCE = 100
PRECISIONS = ("int8", "fp32")


async def judged(data: Path) -> dict[str, Any]:
    """`lanemesh eval` on each collection in one mesh, and what its lanes hold in memory with SciFact loaded."""
    found: dict[str, Any] = {}
    async with mesh(PAIR) as up:
        for collection in (SCIFACT, CRANFIELD):
            found[collection] = await up.command("eval", str(data / collection), "--json")
            found.setdefault("resident_mib", up.resident())
    return found


async def exact(data: Path) -> dict[str, Any]:
    """`lanemesh eval` on SciFact by the vector lane alone, its embedder in 32 bits."""
    async with mesh("vector", LANEMESH_EMBEDDING_PRECISION="fp32") as up:
        return {SCIFACT: await up.command("eval", str(data / SCIFACT), "--json"), "resident_mib": up.resident()}


async def graph(data: Path) -> dict[str, Any]:
    """The film graph: loading, memory, and how many questions have a gold answer among the lane's results."""
    found: dict[str, Any] = {}
    async with mesh("kg") as up:
        started = time.perf_counter()
        stored = await up.command("ingest", str(data / FILMS / "kb.txt"), "--json")
        found |= {"triples": stored["acknowledged"], "load_seconds": time.perf_counter() - started}
        for hops in HOPS:
            found[hops] = await _answered(up, _film_questions(data, hops))
        found["resident_mib"] = up.resident()
        questions = [question for hops in HOPS for question, _ in _film_questions(data, hops)]
        found["call"] = await _call("kg", up.home, questions[:200] + questions[-200:])
    return found


async def speed(data: Path) -> dict[str, Any]:
    """What a call costs over gRPC, a question to embed, and a document to store."""
    documents = _documents(data / SCIFACT)
    questions = list(beir.read(str(data / SCIFACT), "test").queries.values())
    found: dict[str, Any] = {"keyword_per_second": await _in_new_home("keyword", documents)}
    found["vector"] = await _vector_ingestion(documents[:EMBEDDED])
    found["embedding"] = {precision: await _embedding(precision, questions) for precision in PRECISIONS}
    for lane, some in (("keyword", documents), ("vector", documents[:EMBEDDED])):
        with tempfile.TemporaryDirectory() as home:
            await stored_per_second(lane, Path(home), some)
            found[f"{lane}_call"] = await _call(lane, Path(home), questions)
    return found


PARTS = {"judged": judged, "exact": exact, "graph": graph, "speed": speed}


async def _in_new_home(lane: str, records: Sequence[UpsertRequest]) -> float:
    with tempfile.TemporaryDirectory() as home:
        return await stored_per_second(lane, Path(home), records)


async def _call(lane: str, home: Path, questions: Sequence[str]) -> dict[str, float]:
    """Both halves of `paired` at the median; the first questions only warm up."""
    with tempfile.TemporaryDirectory() as copy:
        remote, local = await paired(lane, home, Path(copy), questions)
    warm = len(questions) // 10
    return {"grpc_p50": metrics.percentile(remote[warm:], 0.5), "own_p50": metrics.percentile(local[warm:], 0.5)}


async def _embedding(precision: str, questions: Sequence[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as home:
        embedder = await open_embedder({"LANEMESH_HOME": home, "LANEMESH_EMBEDDING_PRECISION": precision})
        times = [await timed(partial(embedder.embed_query, question)) for question in questions]
        await embedder.close()
    return {"p50": metrics.percentile(times, 0.5), "p99": metrics.percentile(times, 0.99)}


async def _vector_ingestion(records: Sequence[UpsertRequest]) -> dict[str, float]:
    """Documents a second into a lane in this process, and the part of the time that its embedder took."""
    with tempfile.TemporaryDirectory() as home:
        embedder = await open_embedder({"LANEMESH_HOME": home})
        watched = _Watched(embedder)
        engine = await EdgeEngine.open(Path(home) / COLLECTION, embedder.model, quantised=False)
        lane = VectorLane(engine, watched)
        started = time.perf_counter()
        for start in range(0, len(records), EMBEDDED_AT_ONCE):
            await lane.upsert(records[start : start + EMBEDDED_AT_ONCE])
        seconds = time.perf_counter() - started
        await lane.close()
    return {"per_second": len(records) / seconds, "embedder_share": watched.seconds / seconds}


class _Watched:
    """An embedder that counts its seconds."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.model = embedder.model
        self.embed_query = embedder.embed_query
        self.close = embedder.close
        self.seconds = 0.0

    async def embed_passages(self, texts: Sequence[str]) -> Rows:
        """Passes on and counts."""
        started = time.perf_counter()
        rows = await self._embedder.embed_passages(texts)
        self.seconds += time.perf_counter() - started
        return rows


async def _answered(up: Mesh, questions: Sequence[tuple[str, set[str]]]) -> dict[str, float]:
    hits, times = 0, []
    for question, gold in questions:
        titles, elapsed = await up.graph_titles(question, RESULTS)
        hits += bool(gold & set(titles))
        times.append(elapsed)
    shares = {f"p{percent}_ms": metrics.percentile(times, percent / 100) for percent in (50, 99)}
    return {"questions": len(questions), "answered": hits / len(questions)} | shares


def _film_questions(data: Path, hops: str) -> list[tuple[str, set[str]]]:
    lines = (data / FILMS / f"{hops}.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines)
    return [(re.sub(r"[\[\]]", "", question), set(answers.split("|"))) for question, answers in pairs]


def _documents(folder: Path) -> list[UpsertRequest]:
    items = reading.read(reading.find([str(folder / reading.BEIR_CORPUS)]))
    documents = [item.request.document for item in items if isinstance(item, Record)]
    return [UpsertRequest(sequence=number, document=each) for number, each in enumerate(documents, 1)]


def _require(data: Path) -> None:
    needed = [data / SCIFACT, data / CRANFIELD, *(data / FILMS / f"{name}.txt" for name in ("kb", *HOPS))]
    if missing := [str(path) for path in needed if not path.exists()]:
        raise InvalidRequest("data", f"{', '.join(missing)} not there; expected {SCIFACT}/, {CRANFIELD}/ and {FILMS}/")


def _kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}
    return found


def _keep(part: dict[str, Any]) -> None:
    FOUND.write_text(json.dumps(_kept() | part, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Measures the parts asked for, writes the table and prints it."""
    parser = argparse.ArgumentParser(prog="bench.index", description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the judged collections")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="default: all")
    options = parser.parse_args(argv)
    try:
        _require(options.data)
    except InvalidRequest as error:
        sys.exit(f"bench: {error.message}")
    for part in options.parts:
        _keep({part: uvloop.run(PARTS[part](options.data))})
    written = page(_kept())
    (HERE / "INDEX.md").write_text(written, encoding="utf-8")
    print(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
