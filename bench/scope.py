"""`python -m bench.scope`: what the graph's scope does for questions across projects, on a company of many projects.

Generates 200 projects from templates, loads them beside the demo corpus into a mesh of its own, and asks the same
questions unscoped and scoped. Writes bench/SCOPE.md.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import Entity
from lanemesh.v1.search_pb2 import (
    SCOPE_MODE_INDEPENDENT,
    SCOPE_MODE_PARALLEL_RESEARCH,
    SCOPE_MODE_SEQUENTIAL,
    IngestRequest,
    ScopeMode,
    SearchRequest,
)

from bench.faults import Up, percentile, up

HERE = Path(__file__).parent
PROJECTS = 200
TOP = 10
HOLDERS = (8, 24)
CONCEPTS = [
    "customer table",
    "loyalty ledger",
    "invoice archive",
    "shipping manifest",
    "refund queue",
    "tariff catalogue",
    "claims register",
    "fleet schedule",
    "consent log",
    "warranty file",
    "vendor roster",
    "pricing matrix",
    "audit trail",
    "booking calendar",
    "meter reading",
    "inspection report",
    "patient record",
    "tenant directory",
    "ticket backlog",
    "payroll run",
    "stock forecast",
    "route planner",
]
FORMS = (
    "What patterns do other teams use for the {concept}?",
    "Which other projects keep a {concept}, and how is it keyed?",
    "How do teams across the company handle the {concept}?",
)
NAMES = "amber birch cedar delta ember fjord grove harbor inlet jade kelp larch maple north ocean pine quartz reef"
MODES = {
    "unscoped": SCOPE_MODE_INDEPENDENT,
    "parallel_research": SCOPE_MODE_PARALLEL_RESEARCH,
    "sequential": SCOPE_MODE_SEQUENTIAL,
}


@dataclass(frozen=True)
class Company:
    """The records to load, and the projects that truly hold each concept."""

    records: list[IngestRequest]
    holders: dict[str, set[str]]


def company(draw: random.Random) -> Company:
    """Projects of which a few hold each concept; all others may speak of it, in passing and at length."""
    names = NAMES.split()
    projects = [f"{names[number % len(names)]}-{number // len(names):02d}" for number in range(PROJECTS)]
    holders = {concept: set(draw.sample(projects, draw.randint(*HOLDERS))) for concept in CONCEPTS}
    records: list[IngestRequest] = []
    for project in projects:
        records.extend(_records(project, holders, draw))
    return Company(records, holders)


def _records(project: str, holders: dict[str, set[str]], draw: random.Random) -> Iterator[IngestRequest]:
    for concept in CONCEPTS:
        if project in holders[concept]:
            yield IngestRequest(entity=_entity(project, concept))
            yield IngestRequest(document=_held(project, concept, draw))
    # Two notes about concepts that other projects hold: what an unscoped search finds as well.
    for concept in draw.sample([concept for concept in CONCEPTS if project not in holders[concept]], 2):
        yield IngestRequest(document=_mentioned(project, concept, draw))


def _entity(project: str, concept: str) -> Entity:
    return Entity(id=f"{project}/{concept}", name=concept, type=concept.split()[-1], projects=[project])


def _held(project: str, concept: str, draw: random.Random) -> Document:
    key = draw.choice(("a UUID", "a natural key", "a composite of region and number", "a sequence per tenant"))
    change = draw.choice(("audit columns", "an append-only history", "soft deletes", "versioned rows"))
    text = (
        f"The {concept} of {project} is keyed by {key}. Every change is kept with {change}. "
        f"Reads go through a view; the owning team reviews the {concept} each quarter."
    )
    return Document(
        id=f"{project}/{concept}", title=f"{concept} in {project}", content=text, project=project, source="docs"
    )


def _mentioned(project: str, concept: str, draw: random.Random) -> Document:
    year = draw.randint(2021, 2026)
    text = (
        f"Notes of {project}, {year}: we discussed how a {concept} could be keyed and which patterns teams use for it. "
        f"We do not keep a {concept} ourselves and decided to wait."
    )
    return Document(
        id=f"{project}/note-{concept}", title=f"Meeting on the {concept}", content=text, project=project, source="docs"
    )


async def load(mesh: Up, records: list[IngestRequest]) -> None:
    """Stores everything; what is not acknowledged ends the run."""
    reply = await mesh.search.Ingest(iter(records), timeout=600.0)
    if reply.acknowledged != len(records):
        raise SystemExit(f"bench: {reply.acknowledged} of {len(records)} records stored: {reply.failures[:3]}")


async def ask(mesh: Up, made: Company, mode: ScopeMode.ValueType) -> tuple[float, float, float, float]:
    """Share of in-scope results among the vector lane's top 10, share of queries scoped, p50 and p99 in ms."""
    inside, total, scoped = 0, 0, 0
    times: list[float] = []
    for concept, holders in made.holders.items():
        for form in FORMS:
            request = SearchRequest(query=form.format(concept=concept), scope_mode=mode, max_results=100)
            reply = await mesh.search.Search(request, timeout=5.0)
            mine = [result.document.project for result in reply.results if "vector" in result.lanes][:TOP]
            inside += sum(project in holders for project in mine)
            total += len(mine)
            row = next(row for row in reply.ledger if row.lane == "vector")
            scoped += bool(row.scope)
            times.append(reply.elapsed_ms)
    queries = len(times)
    return inside / max(total, 1), scoped / queries, percentile(times, 0.5), percentile(times, 0.99)


async def measure() -> str:
    """The table."""
    made = company(random.Random(7))
    async with up() as mesh:
        await load(mesh, made.records)
        rows = [
            f"| {name} | {share:.1%} | {scoped:.0%} | {middle:.0f} | {worst:.0f} |"
            for name, mode in MODES.items()
            for share, scoped, middle, worst in [await ask(mesh, made, mode)]
        ]
    head = [
        "# Scope",
        "",
        f"{PROJECTS} generated projects, {len(made.records)} records, beside the demo corpus; "
        f"{len(made.holders) * len(FORMS)} questions across projects.",
        "",
        f"| search | in-scope share of the vector lane's top {TOP} | questions scoped | answer p50 ms | p99 ms |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def main() -> int:
    """Measures and writes the table."""
    page = uvloop.run(measure())
    (HERE / "SCOPE.md").write_text(page)
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
