"""What an evaluation found, as one object for programs and as a table for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from client import metrics
from client.beir import Dataset
from client.judge import COST, MODE, Rankings, Tally

FIGURES = ("ndcg@10", "recall@100", "mrr@10", "p50_ms", "p99_ms", "failed", "partial")


def report(dataset: Dataset, rankings: Rankings, k: float) -> dict[str, Any]:
    """Quality and latency of each lane and fused; `rrf` is plain RRF of the lanes' own rankings, made here."""
    plain = {
        query: metrics.reciprocal_rank_fusion([tally.rankings.get(query, []) for tally in rankings.lanes.values()], k)
        for query in dataset.queries
    }
    return {
        "dataset": dataset.name,
        "split": dataset.split,
        "queries": len(dataset.queries),
        "mode": MODE,
        "cost": COST,
        "results_per_lane": {lane: tally.allowed.get(lane, 0) for lane, tally in rankings.lanes.items()},
        "lanes": {lane: _figures(tally, dataset) for lane, tally in rankings.lanes.items()},
        "fused": _figures(rankings.fused, dataset),
        "rrf": {"k": k} | metrics.quality(plain, dataset.judged),
    }


def _figures(tally: Tally, dataset: Dataset) -> dict[str, float]:
    return metrics.quality(tally.rankings, dataset.judged) | {
        "p50_ms": metrics.percentile(tally.times_ms, 0.50),
        "p99_ms": metrics.percentile(tally.times_ms, 0.99),
        "failed": tally.failed.total(),
        "partial": tally.partial,
    }


def show(console: Console, found: dict[str, Any]) -> None:
    """Prints the table."""
    table = Table("", box=None, pad_edge=False)
    for name in FIGURES:
        table.add_column(name, justify="right")
    for lane, figures in found["lanes"].items():
        table.add_row(Text(lane, "bold"), *_cells(figures))
    table.add_row(Text("fused", "bold"), *_cells(found["fused"]))
    table.add_row(Text(f"plain RRF, k = {found['rrf']['k']:g}", "dim"), *_cells(found["rrf"]))
    console.print(Text(f"{found['dataset']} ({found['split']}): {found['queries']} queries\n"))
    console.print(table)
    depths = ", ".join(f"{lane} {most}" for lane, most in found["results_per_lane"].items())
    console.print(
        Text(f"\nmost results per lane in {found['mode']} mode: {depths}; recall@100 is bounded by it", "dim")
    )


def _cells(figures: dict[str, float]) -> list[str]:
    return [_cell(name, figures[name]) if name in figures else "" for name in FIGURES]


def _cell(name: str, value: float) -> str:
    if name.endswith("_ms"):
        return f"{value:.1f}"
    return f"{value:.4f}" if "@" in name else str(value)
