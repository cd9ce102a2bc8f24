"""`python -m bench.classify`: how often the gateway reads a question right, and how long that takes.

The labelled questions of tests/gateway/questions.jsonl; no process but this one. Writes bench/CLASSIFY.md.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from lanemesh.v1.search_pb2 import SearchRequest

from gateway import route
from gateway.classify import classify
from services.runtime.registry import load_table

HERE = Path(__file__).parent
LABELLED = HERE.parent / "tests" / "gateway" / "questions.jsonl"
ROUNDS = 20
EVERY_LANE = load_table().only(set(load_table().lanes))


def right_type(question: dict[str, Any], *, also: bool) -> bool:
    """Whether the primary type is the one of the label, or another that the label accepts."""
    primary = (classify(question["query"]).types or ("",))[0]
    return primary == question["type"] or (also and primary in question["also"])


def right_lanes(question: dict[str, Any]) -> bool:
    """Whether all the lanes of the label are chosen, and none but those it leaves open."""
    query = question["query"]
    chosen = set(route.choose(SearchRequest(query=query), classify(query), question["mode"], EVERY_LANE)) - {
        route.PREFLIGHT
    }
    return set(question["lanes"]) <= chosen <= {*question["lanes"], *question["optional"]}


def microseconds(questions: list[dict[str, Any]]) -> list[float]:
    """The time of each classification, every question several times, never from memory."""
    taken = []
    for _ in range(ROUNDS):
        classify.cache_clear()
        for question in questions:
            started = time.perf_counter()
            classify(question["query"])
            taken.append((time.perf_counter() - started) * 1e6)
    return taken


def page(questions: list[dict[str, Any]]) -> str:
    """The table."""
    by_type: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for question in questions:
        by_type[question["type"] or "none"].append(question)
    rows = [(name, by_type[name]) for name in sorted(by_type)] + [("all", questions)]
    taken = statistics.quantiles(microseconds(questions), n=100)
    lines = [
        "# Classification",
        "",
        f"{len(questions)} questions of our own wording with their labels, `tests/gateway/questions.jsonl`.",
        "",
        "| labelled type | questions | primary type as labelled | or another the label accepts | lanes right |",
        "|---|---|---|---|---|",
    ]
    for name, some in rows:
        counts = (
            sum(right_type(each, also=False) for each in some),
            sum(right_type(each, also=True) for each in some),
            sum(map(right_lanes, some)),
        )
        lines.append(f"| {name} | {len(some)} | " + " | ".join(f"{count / len(some):.1%}" for count in counts) + " |")
    lines += ["", f"Time of one classification: p50 {taken[49]:.0f} µs, p99 {taken[98]:.0f} µs."]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measures and writes the table."""
    questions = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    written = page(questions)
    (HERE / "CLASSIFY.md").write_text(written)
    print(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
