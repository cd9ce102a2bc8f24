"""Ranking quality on judged collections, where they are at hand."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path

import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import UpsertRequest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.keyword.lane import KeywordLane
from tests.keyword.engines import EMBEDDED


@pytest.fixture
def engine() -> str:
    return EMBEDDED


DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.parametrize(("collection", "least"), [("scifact", 0.68), ("cranfield", 0.43)])
async def test_ndcg(lane: KeywordLane, collection: str, least: float) -> None:
    folder = DATA / collection
    if not folder.is_dir():
        pytest.skip(f"the collection {collection} is not at {folder}")
    records = [
        UpsertRequest(document=Document(id=row["_id"], title=row["title"], content=row["text"] or row["title"] or "-"))
        for row in _lines(folder / "corpus.jsonl")
    ]
    for start in range(0, len(records), 500):
        assert not await lane.upsert(records[start : start + 500])
    judged = _judgements(folder / "qrels" / "test.tsv")
    gains = [
        await _ndcg(lane, row["text"], judged[row["_id"]])
        for row in _lines(folder / "queries.jsonl")
        if row["_id"] in judged
    ]
    assert sum(gains) / len(gains) >= least


async def _ndcg(lane: KeywordLane, query: str, relevant: dict[str, int]) -> float:
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(query=query, max_results=10), reply)
    ideal = sorted(relevant.values(), reverse=True)[:10]
    return _gain([relevant.get(evidence.document.id, 0) for evidence in reply.evidence]) / _gain(ideal)


def _gain(grades: list[int]) -> float:
    return sum(grade / math.log2(rank + 2) for rank, grade in enumerate(grades))


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        judged[query][document] = int(grade)
    return judged
