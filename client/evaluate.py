"""`lanemesh eval`: a BEIR data set through the running mesh; quality and latency of each lane and of all fused."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lanemesh.v1 import search_pb2
from lanemesh.v1.search_pb2 import LaneInfo

from client import beir, ingest, judge, options, reading, scores
from client.beir import Dataset
from client.mesh import Mesh
from client.output import new_console, note, print_json
from client.progress import bar, counter
from services.runtime.errors import InvalidRequest, LanemeshError, Unavailable


def register(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "dataset", metavar="DIR", help="folder in BEIR layout: corpus.jsonl, queries.jsonl, qrels/<split>.tsv"
    )
    parser.add_argument("--split", default="test", help="judgements to use (default: test)")
    parser.add_argument(
        "--lanes", metavar="A,B", type=options.words, default=[], help="index lanes to measure (default: all running)"
    )
    parser.add_argument("--limit", metavar="N", type=int, help="ask only the first N judged queries")
    parser.add_argument("--k", type=float, default=60.0, help="constant of the plain RRF shown beside (default: 60)")
    parser.add_argument("--concurrency", metavar="C", type=int, default=1, help="queries under way (default: 1)")
    parser.add_argument(
        "--no-ingest", action="store_true", help="the corpus is already in the project named after the folder"
    )
    parser.add_argument(
        "--rankings", metavar="FOLDER", type=Path, help="also write each lane's rankings there, <dataset>.<lane>.json"
    )
    options.add_json(parser)


async def run(arguments: argparse.Namespace) -> int:
    """Ingests, asks, scores and prints. Exit code 1 when a query failed: the figures then say too little."""
    for name, least in (("limit", 1), ("concurrency", 1), ("k", 0)):
        value = getattr(arguments, name)
        if value is not None and not value >= least:
            raise InvalidRequest(name, f"must be at least {least}")
    dataset = beir.read(arguments.dataset, arguments.split, arguments.limit)
    async with Mesh() as mesh:
        lanes = _chosen(await mesh.lanes(), arguments.lanes)
        if not arguments.no_ingest:
            await _ingest(mesh, dataset)
        _check_stock(await mesh.lanes(), lanes, dataset)
        with counter(len(dataset.queries), "queries") as done:
            rankings = await judge.ask_all(mesh, dataset, lanes, arguments.concurrency, done)
    report = scores.report(dataset, rankings, arguments.k) | {"concurrency": arguments.concurrency}
    if arguments.rankings is not None:
        _write(arguments.rankings, dataset.name, rankings)
    failed = _tell_failures(rankings)
    if arguments.json:
        print_json(report)
    else:
        scores.show(new_console(), report)
    return 1 if failed else 0


def _chosen(listing: search_pb2.ListLanesResponse, wanted: list[str]) -> list[str]:
    """The lanes to measure: index lanes that are part of the mesh, every one of them ready."""
    running = {lane.name: lane for lane in listing.lanes if lane.indexed and _is_running(lane)}
    for name in wanted:
        if name not in running:
            raise InvalidRequest("lanes", f"{name} is no index lane of this mesh; it has {', '.join(running)}")
    lanes = {name: lane for name, lane in running.items() if not wanted or name in wanted}
    if not lanes:
        raise InvalidRequest("lanes", "this mesh has no index lane")
    for name, lane in lanes.items():
        if lane.serving != search_pb2.SERVING_READY:
            raise Unavailable(f"the {name} lane is not ready: {lane.message}")
    return list(lanes)


def _is_running(lane: LaneInfo) -> bool:
    return lane.serving not in (search_pb2.SERVING_DISABLED, search_pb2.SERVING_UNSPECIFIED)


async def _ingest(mesh: Mesh, dataset: Dataset) -> None:
    """Stores the corpus in a project of its own; what single records lack is told, a lane that fails ends it."""
    sources = reading.find([str(dataset.corpus)])
    with bar(sources) as advance:
        summary = await ingest.ingest(mesh, reading.read(sources, project=dataset.name), advance)
    if summary.error is not None:
        raise summary.error
    if summary.lost:
        raise LanemeshError(summary.trouble())
    if summary.failures:
        note(f"{dataset.name}: {summary.trouble()}")


def _check_stock(listing: search_pb2.ListLanesResponse, lanes: list[str], dataset: Dataset) -> None:
    """Says when a lane does not hold what the judgements are about."""
    expected = dataset.documents()
    held: Mapping[str, int] = {
        lane.name: lane.stats.documents_by_project[dataset.name] for lane in listing.lanes if lane.name in lanes
    }
    if not any(held.values()):
        raise InvalidRequest("no_ingest", f"no lane holds a document of the project {dataset.name}")
    for lane, count in held.items():
        if count != expected:
            note(f"note: the {lane} lane holds {count} documents of {dataset.name}, the corpus has {expected}")


def _write(folder: Path, dataset: str, rankings: judge.Rankings) -> None:
    """One file for each lane: for each query its documents and the lane's scores, best first."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for lane, tally in rankings.lanes.items():
            listed = {query: list(scores.items()) for query, scores in tally.scores.items()}
            (folder / f"{dataset}.{lane}.json").write_text(json.dumps(listed), encoding="utf-8")
    except OSError as error:
        raise InvalidRequest("rankings", f"{folder} cannot be written: {error.strerror}") from None


def _tell_failures(rankings: judge.Rankings) -> bool:
    tallies: dict[str, Any] = rankings.lanes | {"fused": rankings.fused}
    for name, tally in tallies.items():
        for reason, count in tally.failed.items():
            note(f"{name}: {count} queries failed ({reason}); they are scored by what came back")
    if rankings.fused.unexplained:
        note(f"fused: {rankings.fused.unexplained} orders do not follow from the arithmetic in their replies")
    return any(tally.failed for tally in tallies.values()) or bool(rankings.fused.unexplained)
