"""What bench/index.py measured as a page, each figure beside what was asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = tuple[str, str, str]
# The precision of the embedder when nothing else is set.
DEFAULT = "int8"
FIGURES = ("ndcg@10", "recall@100", "mrr@10")


def page(found: dict[str, Any]) -> str:
    """The page; parts that were not measured are left out."""
    lines = ["# Index lanes, measured", "", "`make bench-index DATA=folder` makes this page."]
    if "judged" in found:
        lines += ["", *_quality(found)]
    rows = [row for part, told in ROWS.items() if part in found for row in told(found[part])]
    if rows:
        lines += ["", "| what | measured | asked |", "|---|---|---|"]
        lines += [f"| {what} | {measured} | {asked} |" for what, measured, asked in rows]
    return "\n".join(lines) + "\n"


def _quality(found: dict[str, Any]) -> Iterator[str]:
    """`lanemesh eval` through the mesh, lane by lane."""
    yield "| collection | ranking | nDCG@10 | recall@100 | MRR@10 | p50 ms | p99 ms |"
    yield "|---|---|---|---|---|---|---|"
    for collection, told in found["judged"].items():
        if "lanes" in told:
            rankings = told["lanes"] | {"plain RRF": told["rrf"], "fused": told["fused"]}
            for name, figures in rankings.items():
                yield _ranking(collection, name, figures)
    for collection, told in found.get("exact", {}).items():
        if "lanes" in told:
            yield _ranking(collection, "vector, embedded in fp32", told["lanes"]["vector"])


def _ranking(collection: str, name: str, figures: dict[str, float]) -> str:
    quality = " | ".join(f"{figures[figure]:.4f}" for figure in FIGURES)
    times = [f"{figures[each]:.1f}" if each in figures else "" for each in ("p50_ms", "p99_ms")]
    return f"| {collection} | {name} | {quality} | {times[0]} | {times[1]} |"


def _judged(told: dict[str, Any]) -> Iterator[Row]:
    scifact, resident = told["scifact"], told["resident_mib"]
    yield "SciFact nDCG@10, vector (int8)", f"{scifact['lanes']['vector']['ndcg@10']:.4f}", ""
    yield "SciFact nDCG@10, keyword", f"{scifact['lanes']['keyword']['ndcg@10']:.4f}", "≥ 0.68"
    yield "SciFact nDCG@10, plain RRF of both", f"{scifact['rrf']['ndcg@10']:.4f}", "≥ 0.715"
    yield "resident with SciFact, vector", f"{resident['vector']:.0f} MiB", "≤ 450 MB"
    yield "resident with SciFact, keyword", f"{resident['keyword']:.0f} MiB", "≤ 250 MB"


def _exact(told: dict[str, Any]) -> Iterator[Row]:
    yield "SciFact nDCG@10, vector (fp32)", f"{told['scifact']['lanes']['vector']['ndcg@10']:.4f}", "≥ 0.64"
    yield "resident with SciFact, vector (fp32)", f"{told['resident_mib']['vector']:.0f} MiB", "≤ 450 MB"


def _graph(told: dict[str, Any]) -> Iterator[Row]:
    rate = told["triples"] / told["load_seconds"]
    yield f"MetaQA: load of {told['triples']} triples", f"{told['load_seconds']:.0f} s, {rate:.0f}/s", "stated"
    for hops, least in (("1-hop", "≥ 95 %"), ("2-hop", "≥ 75 %")):
        part = told[hops]
        answered = f"{part['answered']:.1%} of {part['questions']}"
        yield f"MetaQA {hops}: a gold answer among ≤ 20 results of the lane", answered, least
        yield (
            f"MetaQA {hops}: the lane's time, p50 / p99",
            f"{part['p50_ms']:.1f} / {part['p99_ms']:.1f} ms",
            "p50 ≤ 50 ms",
        )
    yield "resident with MetaQA, kg", f"{told['resident_mib']['kg']:.0f} MiB", "≤ 450 MB"
    yield _call("kg", told["call"])


def _speed(told: dict[str, Any]) -> Iterator[Row]:
    for lane in ("vector", "keyword"):
        yield _call(lane, told[f"{lane}_call"])
    for precision, times in told["embedding"].items():
        yield (
            f"embedding a question, {precision}, p50 / p99",
            f"{times['p50']:.1f} / {times['p99']:.1f} ms",
            "p50 ≤ 6 ms",
        )
    yield "keyword ingestion", f"{told['keyword_per_second']:.0f} documents/s", "≥ 1500"
    vector = told["vector"]
    share = f"{vector['embedder_share']:.0%} of it embedding"
    yield "vector ingestion", f"{vector['per_second']:.1f} documents/s, {share}", "stated"


def _call(lane: str, told: dict[str, float]) -> Row:
    more = told["grpc_p50"] - told["own_p50"]
    measured = f"{told['own_p50']:.1f} → {told['grpc_p50']:.1f} ms: {more:+.2f} ms"
    return f"{lane}: a call in process → over gRPC, p50", measured, "≤ 3 ms more"


ROWS = {"judged": _judged, "exact": _exact, "graph": _graph, "speed": _speed}
