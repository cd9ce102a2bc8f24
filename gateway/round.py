"""The lane calls of one query: begun together, followed up where the graph's scope or a failure asks for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Mapping

from lanemesh.v1.lane_pb2 import LANE_STATUS_BYPASSED, RetrieveRequest
from lanemesh.v1.search_pb2 import SearchRequest

from gateway import budget, fallback, plan, scope
from gateway.fanout import Fanout, LaneCall
from gateway.outcome import Outcome
from gateway.plan import Planned
from gateway.route import PREFLIGHT
from services.runtime.deadline import Deadline
from services.runtime.registry import LaneRow, Table


class Round:
    """One query's dealings with its lanes. Every lane that was asked ends in exactly one outcome."""

    def __init__(
        self, table: Table, fanout: Fanout, request: SearchRequest, planned: Planned, deadline: Deadline, origin: float
    ) -> None:
        self._table = table
        # The table as far as it is open to the caller.
        self._open = planned.caller.narrowed(table)
        self._fanout = fanout
        self.request = request
        self.planned = planned
        self.deadline = deadline
        self.origin = origin
        self._ended: asyncio.Queue[LaneCall] = asyncio.Queue()
        # Every call made, and those that have not ended.
        self.calls: list[LaneCall] = []
        self._under_way: list[LaneCall] = []
        self._asked: set[str] = set()
        self._outcomes: list[Outcome] = []
        self._limited: Mapping[str, scope.Limited] = scope.limits(
            scope.limited_lanes(request, planned, table), planned, table
        )

    def waiting(self) -> list[str]:
        """The lanes asked that have not ended, in table order."""
        ended = {outcome.lane for outcome in self._outcomes}
        return [name for name in self._table.lanes if name in self._asked and name not in ended]

    async def outcomes(self) -> AsyncGenerator[Outcome, None]:
        """Each lane's outcome as it comes. Preflight may still be under way at the end: advice delays no answer."""
        for row in self.planned.asked():
            self._asked.add(row.name)
            if not self._is_held_back(row.name):
                self._ask(row)
        while self._evidence_is_missing():
            call = await self._ended.get()
            if call not in self._under_way:
                continue
            self._under_way.remove(call)
            for outcome in self._heard(call, await call.outcome(self.origin)):
                self._outcomes.append(outcome)
                yield outcome

    async def advice(self) -> Outcome | None:
        """Preflight's outcome where the lanes had not to wait for it: what it says by now, or that it came too late."""
        if not self._under_way:
            return None
        (call,) = self._under_way
        if call.flight.ended:
            self._under_way.clear()
            return await call.outcome(self.origin)
        self.close()
        call.told = _not_waited_for(call, self.origin)
        return call.told

    def close(self) -> None:
        """Gives up what is under way."""
        for call in self._under_way:
            call.flight.cancel()
        self._under_way.clear()

    def _evidence_is_missing(self) -> bool:
        """Whether a lane that answers is under way; preflight is one only when it was asked alone."""
        return any(call.row.name != PREFLIGHT or len(self._asked) == 1 for call in self._under_way)

    def _is_held_back(self, lane: str) -> bool:
        return lane in self._limited and self._limited[lane].sequential

    def _heard(self, call: LaneCall, outcome: Outcome) -> list[Outcome]:
        """The outcomes that are settled by one call's end."""
        settled = []
        if call.row.name in self._limited:
            self._keep(self._limited[call.row.name], call, outcome)
            settled += self._move_on([call.row.name])
        else:
            settled.append(outcome)
        if call.row.name == scope.GRAPH and self._limited:
            for limited in self._limited.values():
                scope.heard(limited, outcome)
            settled += self._move_on(self._limited)
        for each in settled:
            self._stand_in_for_failed(each)
        if not self._evidence_is_missing():
            self._stand_in_for_empty([*self._outcomes, *settled])
        return settled

    def _keep(self, limited: scope.Limited, call: LaneCall, outcome: Outcome) -> None:
        if call.scope:
            limited.scoped, limited.scoped_under_way = outcome, False
        else:
            limited.whole, limited.whole_under_way = outcome, False

    def _move_on(self, lanes: Iterable[str]) -> list[Outcome]:
        """Takes the next step of each lane that may be limited; returns those that are settled by it."""
        settled = []
        for name in lanes:
            limited = self._limited[name]
            if any(outcome.lane == name for outcome in self._outcomes):
                continue
            while (step := limited.next()) not in (scope.Step.WAIT, scope.Step.SETTLE):
                self._follow(step, self._table.lanes[name], limited)
            if step is scope.Step.SETTLE:
                self._drop(name)
                settled.append(limited.settled())
        return settled

    def _follow(self, step: scope.Step, row: LaneRow, limited: scope.Limited) -> None:
        if step is scope.Step.ASK_ALL:
            limited.whole_under_way = True
            self._ask(row)
        elif self._ask_scoped(row, limited.projects or ()):
            limited.scoped_under_way = True
        else:
            limited.give_up_scoped("unscoped: the scope came too late for a search of its own")

    def _ask(self, row: LaneRow, fallback_for: str = "") -> None:
        if row.name in self._limited and not fallback_for:
            self._limited[row.name].whole_under_way = True
        granted = self._fanout.granted_ms(row, self.planned, self.deadline)
        self._begin(row, self._question(row), granted, fallback_for=fallback_for)

    def _ask_scoped(self, row: LaneRow, projects: Iterable[str]) -> bool:
        """One search limited to the projects, inside what is left of the lane's budget."""
        granted = self._fanout.granted_ms(row, self.planned, self.deadline)
        for call in self._under_way:
            if call.row is row:
                granted = min(granted, (call.until - time.monotonic()) * 1000)
        if not budget.fits(row, granted):
            return False
        question = RetrieveRequest()
        question.CopyFrom(self._question(row))
        del question.filters.projects[:]
        question.filters.projects.extend(projects)
        self._begin(row, question, granted, scope=tuple(projects))
        return True

    def _begin(self, row: LaneRow, question: RetrieveRequest, granted: float, **what: object) -> None:
        self._asked.add(row.name)
        call = self._fanout.begin(row, question, granted, self._ended.put_nowait, **what)  # type: ignore[arg-type]
        self.calls.append(call)
        self._under_way.append(call)

    def _question(self, row: LaneRow) -> RetrieveRequest:
        return plan.lane_request(self.request, self.planned, row, self._table)

    def _drop(self, lane: str) -> None:
        """Gives up what is still under way for a lane that is settled."""
        for call in [call for call in self._under_way if call.row.name == lane]:
            self._under_way.remove(call)
            call.flight.cancel()

    def _stand_in_for_failed(self, outcome: Outcome) -> None:
        if outcome.failed:
            self._stand_in_for(outcome.lane)

    def _stand_in_for_empty(self, outcomes: list[Outcome]) -> None:
        evidence = [outcome for outcome in outcomes if outcome.lane != PREFLIGHT]
        if fallback.found_nothing(evidence):
            for outcome in evidence:
                self._stand_in_for(outcome.lane)

    def _stand_in_for(self, lane: str) -> None:
        if self.request.include_lanes:
            return
        row = fallback.stand_in(lane, self._open, self._asked, self.request.exclude_lanes, self._granted)
        if row is not None:
            self._ask(row, fallback_for=lane)

    def _granted(self, row: LaneRow) -> float:
        return self._fanout.granted_ms(row, self.planned, self.deadline)


def _not_waited_for(call: LaneCall, origin: float) -> Outcome:
    now = time.monotonic()
    return Outcome(
        lane=call.row.name,
        status=LANE_STATUS_BYPASSED,
        reason="BUDGET_EXCEEDED",
        message="the lanes had answered before it did",
        budget_ms=call.budget_ms,
        started_ms=(call.started - origin) * 1000,
        elapsed_ms=(now - call.started) * 1000,
        reply=None,
    )


def in_table_order(outcomes: Iterable[Outcome], table: Table) -> list[Outcome]:
    """The order of the table, so that the order of arrival never shows."""
    place = {name: number for number, name in enumerate(table.lanes)}
    return sorted(outcomes, key=lambda outcome: place[outcome.lane])
