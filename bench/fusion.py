"""`make eval`: how well fusion ranks, cites and finds disagreements, and how fast; written to bench/FUSION.md.

The lanes' own rankings, which fusion is measured on, are made through a mesh by `lanemesh eval --rankings`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from lanemesh.v1.evidence_pb2 import Document, Evidence
from lanemesh.v1.fusion_pb2 import AlignRequest, FuseRequest, LaneFindings
from qdrant_client.hybrid.fusion import reciprocal_rank_fusion
from qdrant_client.models import ScoredPoint

from bench import rankings
from bench.null import prose
from client import beir, metrics
from client.recompute import differences
from fusion_service.align import align
from fusion_service.claims import claim
from fusion_service.contradiction import compare
from fusion_service.fuse import fuse
from fusion_service.rrf import rrf
from services.runtime.registry import load_table

HERE = Path(__file__).parent
NOW = 1_800_000_000
SITES = ("en.wikipedia.org", "arxiv.org", "github.com", "medium.com", "a.blogspot.com", "nasa.gov", "mit.edu", "x.com")
AGES = (0.5, 3, 20, 200, 2_000)
THRESHOLDS = (0.6, 0.65, 0.7, 0.75, 0.8)
NEARNESS = (0.35, 0.4, 0.425, 0.45, 0.5, 0.6)
LANES, RESULTS = ("web", "vector", "kg", "keyword", "news", "markets", "local", "custom"), 50


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, prints the page and writes it."""
    parser = argparse.ArgumentParser(prog="bench.fusion", description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the judged collections")
    parser.add_argument("--rankings", type=Path, help="folder of rankings made before, to be used again")
    options = parser.parse_args(argv)
    if not options.data.is_dir():
        parser.error(f"{options.data} is not a folder of judged collections")
    with TemporaryDirectory() as made:
        if options.rankings is None:
            rankings.make(options.data, Path(made))
        parts = [*_ranking(options.data, options.rankings or Path(made))]
    rows = _rows(options.data / "scifact_claims" / "claims.jsonl")
    page = "\n".join(["# Fusion, measured", "", *parts, *_citations(rows), "", *_disagreements(rows), "", *_speed()])
    (HERE / "FUSION.md").write_text(page + "\n", encoding="utf-8")
    print(page)
    return 0


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _ranking(data: Path, folder: Path) -> Iterator[str]:
    """nDCG@10 of each lane and fused; then with site and date assigned at random; and whether orders recompute."""
    yield "| nDCG@10 | lanes | plain RRF | fused | fused, random site and date | of plain RRF | orders recomputed |"
    yield "|---|---|---|---|---|---|---|"
    for collection in sorted({file.name.split(".")[0] for file in folder.glob("*.json")}):
        dataset = beir.read(str(data / collection), "test")
        texts = {row["_id"]: row for row in _rows(dataset.corpus)}
        lanes = {file.name.split(".")[1]: json.loads(file.read_text()) for file in folder.glob(f"{collection}.*.json")}
        own = {
            lane: {query: [one for one, _ in found] for query, found in all_.items()} for lane, all_ in lanes.items()
        }
        alone = {lane: metrics.quality(found, dataset.judged)["ndcg@10"] for lane, found in own.items()}
        queries = dataset.queries
        plain = {query: metrics.reciprocal_rank_fusion([own[lane][query] for lane in own], 60.0) for query in queries}
        base = metrics.quality(plain, dataset.judged)["ndcg@10"]
        fused, wrong = _fused(dataset, lanes, texts, random=False)
        mixed, _ = _fused(dataset, lanes, texts, random=True)
        shown = ", ".join(f"{lane} {value:.4f}" for lane, value in sorted(alone.items()))
        recomputed = f"{len(queries) - wrong} of {len(queries)}"
        yield f"| {collection} | {shown} | {base:.4f} | {fused:.4f} | {mixed:.4f} | {mixed / base:.1%} | {recomputed} |"
    yield ""


def _fused(
    dataset: beir.Dataset, lanes: dict[str, Any], texts: dict[str, dict[str, str]], *, random: bool
) -> tuple[float, int]:
    table, draw = load_table(), Random(7)
    places = {name: (f"https://{draw.choice(SITES)}/{name}", int(NOW - 86_400 * draw.choice(AGES))) for name in texts}
    found, wrong = {}, 0
    for query, text in dataset.queries.items():
        request = FuseRequest(query=text, max_results=100)
        request.now.seconds = NOW
        for lane, found_by in lanes.items():
            listed = request.lanes.add(lane=lane)
            for name, score in found_by[query]:
                row = texts[name]
                document = Document(id=name, title=row["title"], content=row["text"] or row["title"])
                if random:
                    document.url, document.published_at.seconds = places[name]
                listed.evidence.add(document=document, score=score)
        results = fuse(request, table).results
        wrong += bool(differences(results))
        found[query] = [result.document.id for result in results]
    return metrics.quality(found, dataset.judged)["ndcg@10"], wrong


def _citations(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Each claim aligned with its abstract, at several thresholds."""
    yield "| citations on scientific claims, similarity ≥ | gold rationale cited | unsupported left uncited | spans |"
    yield "|---|---|---|---|"
    for least in THRESHOLDS:
        cited, uncited, spans, right = [], [], 0, 0
        for row in rows:
            content = " ".join(row["sentences"])
            document = Document(id="d", title=row["title"], content=content)
            reply = align(AlignRequest(text=row["claim"], documents=[document], min_similarity=least))
            found = [citation for sentence in reply.sentences for citation in sentence.citations]
            spans += len(found)
            right += sum(content.encode()[one.start_byte : one.end_byte] == one.passage.encode() for one in found)
            if row["label"] == "NONE":
                uncited.append(not found)
            else:
                gold = _gold(row)
                cited.append(any(one.start < end and start < one.end for one in found for start, end in gold))
        marked = " (default)" if least == 0.7 else ""
        yield f"| {least}{marked} | {_share(cited)} | {_share(uncited)} | {right} of {spans} byte-identical |"


def _gold(row: dict[str, Any]) -> list[tuple[int, int]]:
    spans, start = [], 0
    for number, sentence in enumerate(row["sentences"]):
        if number in row["evidence"]:
            spans.append((start, start + len(sentence)))
        start += len(sentence) + 1
    return spans


def _disagreements(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Each claim held against the sentences of its abstract, by nearness of their subjects."""
    yield "| disagreements on scientific claims, nearness ≥ | CONTRADICT flagged | SUPPORT flagged | NONE flagged |"
    yield "|---|---|---|---|"
    surest: dict[str, list[float]] = {"CONTRADICT": [], "SUPPORT": [], "NONE": []}
    for row in rows:
        found = [compare(claim(row["claim"]), claim(sentence), 0.0) for sentence in row["sentences"]]
        surest[row["label"]].append(max((one.confidence for one in found if one), default=0.0))
    for least in NEARNESS:
        cells = [_share([value >= least for value in values]) for values in surest.values()]
        yield f"| {least}{' (default)' if least == 0.425 else ''} | {' | '.join(cells)} |"


def _share(values: Sequence[bool]) -> str:
    return f"{sum(values) / max(1, len(values)):.3f}"


def _speed() -> Iterator[str]:
    """8 lanes of 50 documents each, a third of them seen by two lanes, and citations of a ten-sentence text."""
    request, table = _large(), load_table()
    text = " ".join(one.document.content[:400].rpartition(".")[0] + "." for one in request.lanes[0].evidence[:5])
    documents = [one.document for findings in request.lanes for one in findings.evidence[:2]]
    asked = AlignRequest(text=text, documents={document.id: document for document in documents}.values())
    fused = _times(lambda: fuse(request, table))
    both = _times(lambda: (fuse(request, table), align(asked)))
    listed = {one.lane: [found.document.id for found in one.evidence] for one in request.lanes}
    points = [[ScoredPoint(id=name, version=0, score=1.0) for name in names] for names in listed.values()]
    plain = _times(lambda: _plain(listed))
    library = _times(lambda: reciprocal_rank_fusion(points, limit=400, ranking_constant_k=60))
    yield f"| 8 lanes × 50 results, {len(align(asked).sentences)} sentences cited | p50 ms | p99 ms | least ms |"
    yield "|---|---|---|---|"
    for name, times in (
        ("fusion", fused),
        ("fusion and alignment", both),
        ("RRF of the 8 rankings alone", plain),
        ("the same by qdrant-client's reciprocal_rank_fusion", library),
    ):
        yield f"| {name} | {times[len(times) // 2]:.2f} | {times[int(len(times) * 0.99)]:.2f} | {times[0]:.2f} |"


def _plain(listed: Mapping[str, Sequence[str]]) -> list[tuple[float, int, str]]:
    """RRF as fusion does it: ranks by document, sums, a settled order for equal ones."""
    documents: dict[str, dict[str, int]] = {}
    for lane, names in listed.items():
        for rank, name in enumerate(names, 1):
            documents.setdefault(name, {})[lane] = rank
    return sorted((-rrf(ranks, {}, 60.0), min(ranks.values()), name) for name, ranks in documents.items())


def _large() -> FuseRequest:
    whole, draw = prose(), Random(1)
    request = FuseRequest(query="how does the payment adapter retry a failed order request")
    for lane in LANES:
        found = []
        for number in range(RESULTS):
            name = f"shared-{draw.randrange(100)}" if draw.random() < 1 / 3 else f"{lane}-{number}"
            start = sum(name.encode()) * 7_919 % (len(whole) - 1_024)
            url = f"https://{SITES[number % len(SITES)]}/{name}"
            document = Document(id=name, title=f"Note {name}", content=whole[start : start + 1_024], url=url)
            found.append(Evidence(document=document, score=1.0 / (number + 1)))
        request.lanes.append(LaneFindings(lane=lane, evidence=found))
    return request


def _times(work: Any, count: int = 200) -> list[float]:
    times = []
    for _ in range(count):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1_000)
    return sorted(times)


if __name__ == "__main__":
    sys.exit(main())
