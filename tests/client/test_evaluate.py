"""`lanemesh eval` against a gateway that answers from a list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lanemesh.v1 import evidence_pb2, index_pb2, lane_pb2, search_pb2

from client import beir, recompute
from services.runtime.errors import InvalidRequest, Overloaded, Unavailable

CORPUS = [{"_id": name, "title": name, "text": f"text of {name}"} for name in ("d1", "d2", "d3")]
QUERIES = [{"_id": "q1", "text": "one"}, {"_id": "q2", "text": "two"}, {"_id": "q3", "text": "never judged"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t1\nq2\td3\t1\n"
OK, ERROR, PARTIAL = lane_pb2.LANE_STATUS_OK, lane_pb2.LANE_STATUS_ERROR, lane_pb2.LANE_STATUS_PARTIAL
ANSWERS = {
    "keyword": {"one": ["d1", "d2"], "two": ["d1", "d3"]},
    "vector": {"one": ["d3", "d2"], "two": ["d3"]},
    "": {"one": ["d2", "d1"], "two": ["d3", "d1"]},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "tiny"
    (root / "qrels").mkdir(parents=True)
    (root / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in CORPUS))
    (root / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in QUERIES))
    (root / "qrels" / "test.tsv").write_text(QRELS)
    return root


def listing(*names, documents=3, serving=search_pb2.SERVING_READY):
    stats = index_pb2.StatsResponse(documents_by_project={"tiny": documents})
    lanes = [search_pb2.LaneInfo(name=name, serving=serving, indexed=True, stats=stats) for name in names]
    off = search_pb2.LaneInfo(name="kg", serving=search_pb2.SERVING_DISABLED, indexed=True)
    plain = search_pb2.LaneInfo(name="local", serving=search_pb2.SERVING_READY)
    return search_pb2.ListLanesResponse(lanes=[*lanes, off, plain])


def found(lane: str, identity: str, rank: int, effect: float) -> evidence_pb2.Evidence:
    part = evidence_pb2.RankContribution(lane=lane, rank=rank, weight=1, k=60, lane_score=1 / rank)
    factor = evidence_pb2.ScoreFactor(name="recency", effect=effect)
    components = evidence_pb2.ScoreComponents(contributions=[part], factors=[factor])
    one = evidence_pb2.Evidence(document=evidence_pb2.Document(id=identity), lanes=[lane], components=components)
    one.score = recompute.score(one)
    return one


def answer(request: search_pb2.SearchRequest, status=OK, reason: str = "") -> search_pb2.SearchResponse:
    lanes = list(request.include_lanes)
    alone = lanes[0] if len(lanes) == 1 else ""
    # Asked alone, the policy turns the lane's own order round; that stands in the contributions.
    names = enumerate(ANSWERS[alone][request.query], 1)
    results = [found(alone or "keyword", name, rank, rank if alone else 0.0) for rank, name in names]
    return search_pb2.SearchResponse(
        results=reversed(results) if alone else results,
        ledger=[search_pb2.LedgerRow(lane=lane, status=status, reason=reason, elapsed_ms=7) for lane in lanes],
        plan=search_pb2.QueryPlan(lanes=[search_pb2.LanePlan(lane=lane, max_results=25) for lane in lanes]),
        elapsed_ms=11,
    )


@pytest.fixture
def judged(gateway):
    gateway.replies["ListLanes"] = listing("vector", "keyword")
    gateway.answering = answer
    return gateway


def test_json_has_every_figure_by_lane_and_fused(judged, run, folder):
    outcome = run("eval", str(folder), "--json")
    assert (outcome.code, outcome.err) == (0, "")
    report = json.loads(outcome.out)
    assert (report["dataset"], report["split"], report["queries"]) == ("tiny", "test", 2)
    assert report["results_per_lane"] == {"vector": 25, "keyword": 25}
    keyword, vector, fused = report["lanes"]["keyword"], report["lanes"]["vector"], report["fused"]
    assert keyword == {
        "ndcg@10": pytest.approx((1 + 0.63093) / 2, abs=1e-4),
        "recall@100": 1.0,
        "mrr@10": 0.75,
        "p50_ms": 7.0,
        "p99_ms": 7.0,
        "failed": 0,
        "partial": 0,
    }
    assert (vector["mrr@10"], vector["recall@100"]) == (0.75, 0.75)
    assert (fused["p50_ms"], fused["mrr@10"]) == (11.0, 1.0)
    assert fused["ndcg@10"] == pytest.approx((0.8597 + 1) / 2, abs=1e-4)
    assert report["rrf"]["k"] == 60
    # d2 is found by both lanes, so plain RRF puts it first; d3 likewise.
    assert report["rrf"]["ndcg@10"] == pytest.approx((0.8597 + 1) / 2, abs=1e-3)


def test_lanes_are_asked_alone_and_together_within_the_project(judged, run, folder):
    run("eval", str(folder), "--limit", "1")
    stored = [request.document for request in judged.requests if isinstance(request, search_pb2.IngestRequest)]
    assert [(document.id, document.project) for document in stored] == [("d1", "tiny"), ("d2", "tiny"), ("d3", "tiny")]
    searches = [request for request in judged.requests if isinstance(request, search_pb2.SearchRequest)]
    assert [list(request.include_lanes) for request in searches] == [["vector"], ["keyword"], ["vector", "keyword"]]
    for request in searches:
        assert (request.query, list(request.projects), request.max_results) == ("one", ["tiny"], 100)
        assert (request.mode, request.constraints.cost) == (lane_pb2.MODE_RESEARCH, lane_pb2.COST_HIGH)


def test_without_ingestion_nothing_is_sent_and_the_stock_is_checked(judged, run, folder):
    judged.replies["ListLanes"] = listing("keyword", documents=2)
    outcome = run("eval", str(folder), "--no-ingest", "--lanes", "keyword", "--concurrency", "3")
    assert outcome.code == 0
    assert not [request for request in judged.requests if isinstance(request, search_pb2.IngestRequest)]
    assert outcome.err == "note: the keyword lane holds 2 documents of tiny, the corpus has 3\n"
    assert "tiny (test): 2 queries" in outcome.out
    assert "most results per lane in research mode: keyword 25" in outcome.out
    assert "0.8155" in outcome.out
    judged.replies["ListLanes"] = listing("keyword", documents=0)
    assert run("eval", str(folder), "--no-ingest").code == 2


def test_failed_queries_are_counted_told_and_exit_1(judged, run, folder):
    def half(request):
        broken = request.query == "two" and "vector" in request.include_lanes
        reply = answer(request, ERROR if broken else OK, "UNAVAILABLE" if broken else "")
        if broken and len(request.include_lanes) == 1:
            del reply.results[:]
        return reply

    judged.answering = half
    outcome = run("eval", str(folder), "--json")
    assert outcome.code == 1
    report = json.loads(outcome.out)
    assert [report["lanes"][lane]["failed"] for lane in ("vector", "keyword")] == [1, 0]
    assert report["lanes"]["vector"]["recall@100"] == 0.25
    assert report["fused"]["failed"] == 1
    assert "vector: 1 queries failed (vector UNAVAILABLE); they are scored by what came back" in outcome.err


def test_partial_answers_are_counted_apart(judged, run, folder):
    judged.answering = lambda request: answer(request, PARTIAL, "DEADLINE_EXCEEDED")
    report = json.loads(run("eval", str(folder), "--json").out)
    assert (report["fused"]["partial"], report["fused"]["failed"]) == (2, 0)


def test_a_refused_query_is_a_failed_one_and_a_lost_gateway_ends_it(judged, run, folder):
    def refusing(error):
        def refuse(request):
            judged.error = error
            return answer(request)

        return refuse

    judged.answering = refusing(Overloaded("full"))
    outcome = run("eval", str(folder), "--lanes", "keyword", "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["fused"]["failed"] == 2
    judged.error = None
    judged.answering = refusing(Unavailable("draining"))
    outcome = run("eval", str(folder), "--lanes", "keyword", "--json")
    assert (outcome.code, outcome.out) == (3, "")


def test_the_lanes_own_rankings_are_written(judged, run, folder, tmp_path):
    kept = tmp_path / "kept"
    assert run("eval", str(folder), "--rankings", str(kept)).code == 0
    assert {file.name for file in kept.iterdir()} == {"tiny.vector.json", "tiny.keyword.json"}
    assert json.loads((kept / "tiny.vector.json").read_text()) == {
        "q1": [["d3", 1.0], ["d2", 0.5]],
        "q2": [["d3", 1.0]],
    }
    assert "rankings" in run("eval", str(folder), "--rankings", str(folder / "queries.jsonl")).err


def test_an_order_that_its_arithmetic_does_not_explain_is_told(judged, run, folder):
    def unexplained(request):
        reply = answer(request)
        reply.results.reverse()
        return reply

    judged.answering = unexplained
    outcome = run("eval", str(folder))
    assert outcome.code == 1
    assert "fused: 2 orders do not follow from the arithmetic in their replies" in outcome.err


def test_a_lane_that_loses_the_corpus_ends_it(judged, run, folder):
    lost = search_pb2.LaneIngestion(lane="vector", error="UNAVAILABLE")
    judged.replies["Ingest"] = lambda records: search_pb2.IngestResponse(received=len(records), lanes=[lost])
    outcome = run("eval", str(folder))
    assert (outcome.code, outcome.out) == (1, "")
    assert "corpus.jsonl:1-3: 3 records not acknowledged by the vector lane" in outcome.err


@pytest.mark.parametrize(
    "option", ["--lanes=web", "--lanes=kg", "--limit=0", "--concurrency=0", "--k=-1", "--k=nan", "--split=train"]
)
def test_what_cannot_be_measured_is_refused_before_anything_is_stored(judged, run, folder, option):
    assert run("eval", str(folder), option).code == 2
    assert not [request for request in judged.requests if isinstance(request, search_pb2.IngestRequest)]


def test_a_lane_that_is_not_ready_is_not_left_out_silently(judged, run, folder):
    judged.replies["ListLanes"] = listing("keyword", serving=search_pb2.SERVING_UNREACHABLE)
    assert run("eval", str(folder)).code == 3


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\n", "test.tsv:2"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\thigh\n", "test.tsv:2"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", "judges no query"),
        ("qrels/test.tsv", "q9\td1\t1\n", "such as q9"),
        ("queries.jsonl", '{"_id": "q1"}\n', "queries.jsonl:1"),
        ("queries.jsonl", "[]\n", "queries.jsonl:1"),
    ],
)
def test_a_broken_data_set_names_file_and_line(folder, name, text, said):
    (folder / name).write_text(text)
    with pytest.raises(InvalidRequest, match=said):
        beir.read(str(folder), "test")


def test_judgements_without_a_header_lose_no_line(folder):
    (folder / "qrels" / "dev.tsv").write_text("q1\td1\t1\nq2\td3\t0\n")
    assert beir.read(str(folder), "dev").judged == {"q1": {"d1": 1}, "q2": {"d3": 0}}
