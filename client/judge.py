"""Asks the mesh every judged question, each lane alone and all together, and keeps the rankings."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lanemesh.v1 import lane_pb2
from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.search_pb2 import SearchResponse

from client.beir import Dataset
from client.mesh import Mesh
from client.metrics import RECALL_CUT
from client.recompute import differences
from services.runtime.errors import LanemeshError, Unavailable
from services.runtime.jsonform import name_of

MODE = "research"
COST = "high"
_ANSWERED = (lane_pb2.LANE_STATUS_OK, lane_pb2.LANE_STATUS_EMPTY, lane_pb2.LANE_STATUS_PARTIAL)


@dataclass
class Tally:
    """What one way of asking gave: these lanes, over all queries."""

    lanes: Sequence[str]
    # Whether the lane's own ranking and time are wanted, not those of the mesh.
    alone: bool
    rankings: dict[str, list[str]] = field(default_factory=dict)
    # The lane's own score of each document, by query.
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    times_ms: list[float] = field(default_factory=list)
    # Queries of which a lane or fusion failed, by reason. They are scored by what came back all the same.
    failed: Counter[str] = field(default_factory=Counter)
    partial: int = 0
    # Answers whose order does not follow from the arithmetic they show.
    unexplained: int = 0
    # Most results each lane was allowed.
    allowed: dict[str, int] = field(default_factory=dict)

    def add(self, query: str, reply: SearchResponse) -> None:
        """Counts one answer."""
        if self.alone:
            self.scores[query] = _own_scores(reply, self.lanes[0])
            self.rankings[query] = list(self.scores[query])
        else:
            self.rankings[query] = _order(reply.results)
            self.unexplained += not reply.fusion_error and bool(differences(reply.results))
        self.allowed |= {plan.lane: plan.max_results for plan in reply.plan.lanes if plan.lane in self.lanes}
        rows = [row for row in reply.ledger if row.lane in self.lanes]
        self.partial += any(row.status == lane_pb2.LANE_STATUS_PARTIAL for row in rows)
        reasons = [_failure(row.lane, row.reason, row.status) for row in rows if row.status not in _ANSWERED]
        if reply.fusion_error:
            reasons.append(f"fusion {reply.fusion_error}")
        if not rows:
            reasons.append("no row in the ledger")
        if reasons:
            self.failed[", ".join(reasons)] += 1
        else:
            self.times_ms.append(rows[0].elapsed_ms if self.alone else reply.elapsed_ms)


@dataclass
class Rankings:
    """What the mesh answered: by lane, and fused."""

    lanes: dict[str, Tally]
    fused: Tally


async def ask_all(
    mesh: Mesh, dataset: Dataset, lanes: Sequence[str], concurrency: int, done: Callable[[], None]
) -> Rankings:
    """Every query, `concurrency` at a time; the ways of asking one query follow each other."""
    rankings = Rankings({lane: Tally([lane], alone=True) for lane in lanes}, Tally(lanes, alone=False))
    waiting = iter(dataset.queries.items())

    async def work() -> None:
        for query, text in waiting:
            for tally in (*rankings.lanes.values(), rankings.fused):
                await _ask(mesh, query, text, dataset.name, tally)
            done()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return rankings


async def _ask(mesh: Mesh, query: str, text: str, project: str, tally: Tally) -> None:
    try:
        reply = await mesh.search(
            text,
            mode=MODE,
            cost=COST,
            max_results=RECALL_CUT,
            lanes=tally.lanes,
            projects=[project],
            skip_preflight=True,
        )
    except Unavailable:
        # Without a gateway every other query would fail as well.
        raise
    except LanemeshError as error:
        tally.failed[error.reason] += 1
    else:
        tally.add(query, reply)


def _own_scores(reply: SearchResponse, lane: str) -> dict[str, float]:
    """The lane's own order and scores, whatever the ranking policy made of it; nothing that another stood in with."""
    found: dict[str, tuple[int, float]] = {}
    for place, evidence in enumerate(reply.results, 1):
        if lane in evidence.lanes:
            given = [part for part in evidence.components.contributions if part.lane == lane]
            found[evidence.document.id] = (given[0].rank, given[0].lane_score) if given else (place, evidence.score)
    return {identity: found[identity][1] for identity in sorted(found, key=lambda one: found[one][0])}


def _order(results: Sequence[Evidence]) -> list[str]:
    return list(dict.fromkeys(evidence.document.id for evidence in results))


def _failure(lane: str, reason: str, status: lane_pb2.LaneStatus.ValueType) -> str:
    return f"{lane} {reason or name_of(lane_pb2.LaneStatus.DESCRIPTOR, status)}"
