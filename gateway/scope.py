"""The graph limits the document search to the projects that hold the question's entities. Pure: decisions, no calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from lanemesh.v1.lane_pb2 import RetrieveResponse
from lanemesh.v1.search_pb2 import SCOPE_MODE_INDEPENDENT, SCOPE_MODE_SEQUENTIAL, SearchRequest

from gateway.outcome import Outcome
from gateway.plan import Planned
from services.runtime.registry import Table

GRAPH = "kg"


class Step(Enum):
    """What to do next for a lane that may be limited."""

    WAIT = auto()
    ASK_SCOPED = auto()
    ASK_ALL = auto()
    SETTLE = auto()


def limited_lanes(request: SearchRequest, planned: Planned, table: Table) -> frozenset[str]:
    """The lanes that wait for the graph's scope; empty when this question is not scoped."""
    mode = planned.message.scope_mode
    asked = {row.name for row in planned.asked()}
    if mode == SCOPE_MODE_INDEPENDENT or GRAPH not in asked:
        return frozenset()
    # A client that names a mode wants it; otherwise only questions that look across projects are scoped.
    primary = planned.message.query_types[0] if planned.message.query_types else ""
    if not request.scope_mode and primary not in table.routing.scoped:
        return frozenset()
    return frozenset(table.routing.scopes) & asked


@dataclass(slots=True)
class Limited:
    """One lane that may be limited: what of it is under way, what has come back, and what follows from that."""

    # Whether it waits for the graph before it is asked at all.
    sequential: bool
    # Fewest results with which a limited search stands on its own.
    least: int
    # None until the graph has answered; empty when it knows no project.
    projects: Sequence[str] | None = None
    whole: Outcome | None = None
    scoped: Outcome | None = None
    whole_under_way: bool = False
    scoped_under_way: bool = False
    notes: list[str] = field(default_factory=list)

    def next(self) -> Step:
        """What to do, given what is known so far."""
        if self.projects is None:
            return Step.WAIT
        if not self.projects:
            return self._unlimited()
        if self.scoped is None:
            return Step.WAIT if self.scoped_under_way else Step.ASK_SCOPED
        return Step.SETTLE if self._enough() else self._unlimited()

    def give_up_scoped(self, note: str) -> None:
        """There is no time for a limited search."""
        self.projects = ()
        self.notes.append(note)

    def settled(self) -> Outcome:
        """The one outcome of the lane."""
        if self.scoped is None or (not self._enough() and self.scoped.failed and self.whole is not None):
            if self.scoped is not None:
                self.notes.append(f"the search limited to {_named(self.scoped.scope)} failed: {self.scoped.reason}")
            assert self.whole is not None  # noqa: S101
            return _noted(self.whole, self.notes)
        if self._enough() or self.whole is None or not self.whole.identities:
            return _noted(self.scoped, [f"limited to {_named(self.scoped.scope)}", *self.notes])
        return self._widened(self.scoped, self.whole)

    def _unlimited(self) -> Step:
        if self.whole is not None:
            return Step.SETTLE
        return Step.WAIT if self.whole_under_way else Step.ASK_ALL

    def _enough(self) -> bool:
        return self.scoped is not None and len(self.scoped.identities) >= self.least

    def _widened(self, scoped: Outcome, whole: Outcome) -> Outcome:
        """What the scope yielded first, then the rest of all projects."""
        assert whole.reply is not None  # noqa: S101
        merged = RetrieveResponse()
        merged.CopyFrom(whole.reply)
        del merged.evidence[:]
        known = set(scoped.identities)
        if scoped.reply is not None:
            merged.evidence.extend(scoped.reply.evidence)
        merged.evidence.extend(each for each in whole.reply.evidence if each.document.id not in known)
        identities = [evidence.document.id for evidence in merged.evidence]
        self.notes.append(f"{_named(scoped.scope)} gave {len(known)} results, widened to all projects")
        outcome = replace(whole, reply=merged, raw=merged.SerializeToString(), identities=identities)
        return _noted(outcome, self.notes)


def limits(lanes: frozenset[str], planned: Planned, table: Table) -> dict[str, Limited]:
    """A fresh state for each lane that may be limited."""
    sequential = planned.message.scope_mode == SCOPE_MODE_SEQUENTIAL
    return {lane: Limited(sequential, table.routing.scope_least) for lane in lanes}


def heard(limited: Limited, graph: Outcome) -> None:
    """Tells a lane's state what the graph said."""
    reply = graph.reply
    limited.projects = tuple(reply.scope.projects) if reply is not None else ()
    if limited.projects:
        return
    if reply is None:
        limited.notes.append("unscoped: the graph did not answer")
    elif reply.scope.entities:
        limited.notes.append(f"unscoped: the graph knows no project of {_named(reply.scope.entities)}")
    else:
        limited.notes.append("unscoped: the graph knows no entity of the question")


def _noted(outcome: Outcome, notes: Sequence[str]) -> Outcome:
    return replace(outcome, message="; ".join(filter(None, [outcome.message, *notes])))


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
