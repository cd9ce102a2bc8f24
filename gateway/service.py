"""The story of one query: check it, plan, ask the lanes at once, fuse, reply with an account of what happened."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, closing
from datetime import UTC, datetime

from lanemesh.v1 import search_pb2_grpc
from lanemesh.v1.search_pb2 import (
    IngestRequest,
    IngestResponse,
    LaneEnded,
    ListLanesRequest,
    ListLanesResponse,
    PlanRequest,
    PlanResponse,
    RefineRequest,
    RefineResponse,
    SearchRequest,
    SearchResponse,
    StreamSearchRequest,
    StreamSearchResponse,
)

from gateway import directory, ledger, metrics, plan, provisional, validate
from gateway.admission import Gate
from gateway.fanout import Fanout
from gateway.fuse import Fusion
from gateway.identity import ANYBODY, Caller, Callers
from gateway.ingest import Ingestion
from gateway.observe import Allowance, Observed
from gateway.outcome import Outcome
from gateway.plan import Planned
from gateway.pressure import Pressure
from gateway.query import Query
from gateway.round import Round, in_table_order
from gateway.route import PREFLIGHT
from services.runtime import modes, telemetry
from services.runtime.boundary import Context, call_deadline, fail, guarded
from services.runtime.clients import Peers
from services.runtime.deadline import Deadline
from services.runtime.errors import DeadlinePassed, NotImplementedHere, PermissionDenied, Refused
from services.runtime.registry import Table

INGEST_DEFAULT_MS = 600_000.0
LIST_DEFAULT_MS = 2_000.0
NOBODY_KNOWN = Callers({}, anybody=ANYBODY)

Now = Callable[[], datetime]


class Gateway(search_pb2_grpc.SearchServiceServicer):
    """Serves the front door."""

    def __init__(
        self,
        table: Table,
        peers: Peers,
        *,
        fusion: bool = True,
        synthesis_ms: float = 0.0,
        callers: Callers = NOBODY_KNOWN,
        now: Now = lambda: datetime.now(UTC),
    ) -> None:
        self.callers = callers
        self._table = table
        self._peers = peers
        self._now = now
        self._fanout = Fanout(table, peers)
        self._fusion = Fusion(table, peers, fusion, synthesis_ms)
        self.gate = Gate(table.protection.limit)
        self.pressure = Pressure(table.protection.pressure, self.gate.busy)
        self._tail = Allowance(telemetry.settings().tail_per_second)
        metrics.GATE_IN_FLIGHT.follow(lambda: self.gate.in_flight)
        metrics.GATE_LIMIT.follow(lambda: self.gate.limit.size)
        metrics.PRESSURE.follow(self.pressure)

    @guarded
    async def Search(self, request: SearchRequest, context: Context) -> SearchResponse:
        """One answer."""
        with self._observed(request) as query:
            caller = self.callers.admit(context)
            async with self.gate.visit(self._deadline(request, context)) as visit:
                with closing(self._begin(query, context, caller)) as asking:
                    outcomes = [outcome async for outcome in asking.outcomes()]
                    reply = await self._finish(query, asking, outcomes)
                visit.own = ledger.own_seconds(reply)
                self.pressure.spend(ledger.budget_shares(reply.ledger))
                return reply

    async def StreamSearch(self, request: StreamSearchRequest, context: Context) -> AsyncIterator[StreamSearchResponse]:
        """The plan, each lane as it ends, the answer."""
        try:
            with self._observed(request.search) as query:
                caller = self.callers.admit(context)
                async with (
                    self.gate.visit(self._deadline(request.search, context)),
                    aclosing(self._events(query, context, caller)) as events,
                ):
                    async for event in events:
                        yield event
        except Exception as error:  # noqa: BLE001  the boundary of a stream
            await fail(context, error)

    async def _events(
        self, query: Query, context: Context, caller: Caller
    ) -> AsyncGenerator[StreamSearchResponse, None]:
        outcomes: list[Outcome] = []
        with closing(self._begin(query, context, caller)) as asking:
            planned = asking.planned
            yield StreamSearchResponse(plan=planned.message)
            query.asked = time.monotonic()
            async with aclosing(asking.outcomes()) as ending:
                async for outcome in ending:
                    outcomes.append(outcome)
                    yield StreamSearchResponse(lane=self._lane_ended(planned, outcomes, asking.waiting()))
            late = asking.waiting()
            final = await self._finish(query, asking, outcomes)
        for row in final.ledger:
            if row.lane in late:
                yield StreamSearchResponse(lane=LaneEnded(row=row))
        yield StreamSearchResponse(final=final)

    @guarded
    async def Plan(self, request: PlanRequest, context: Context) -> PlanResponse:
        """Explains; nothing runs."""
        caller = self.callers.admit(context)
        _, planned = self._prepare(request.search, context, caller, must_fit=False)
        return PlanResponse(plan=planned.message)

    @guarded
    async def Refine(self, request: RefineRequest, context: Context) -> RefineResponse:
        """Preflight alone: a search of that one lane, without fusion."""
        search = SearchRequest(query=request.query, mode=request.mode, include_lanes=[PREFLIGHT])
        if request.HasField("constraints"):
            search.constraints.CopyFrom(request.constraints)
        if not self._table.lanes[PREFLIGHT].enabled:
            raise NotImplementedHere("the preflight lane is not part of this mesh")
        with self._observed(search) as query:
            caller = self.callers.admit(context)
            caller.require([PREFLIGHT], "")
            async with self.gate.visit(self._deadline(search, context)):
                with closing(self._begin(query, context, caller)) as asking:
                    (outcome,) = [each async for each in asking.outcomes()]
        if outcome.reply is None:
            raise Refused(f"preflight did not answer: {outcome.message}", reason=outcome.reason)
        return RefineResponse(preflight=outcome.reply.preflight)

    @guarded
    async def ListLanes(self, _request: ListLanesRequest, context: Context) -> ListLanesResponse:
        """The lanes and how they are."""
        caller = self.callers.admit(context)
        deadline = call_deadline(context, LIST_DEFAULT_MS)
        return await directory.list_lanes(self._table, self._peers, deadline, caller)

    @guarded
    async def Ingest(self, request_iterator: AsyncIterator[IngestRequest], context: Context) -> IngestResponse:
        """Stores in every index lane at once."""
        caller = self.callers.admit(context)
        if not (caller.ingest or caller.delete):
            raise PermissionDenied(f"{caller.title} may neither store nor delete")
        # The soft deadline, so that the account of a lane that hangs still arrives.
        deadline = call_deadline(context, INGEST_DEFAULT_MS).soft()
        return await Ingestion(self._table, self._peers, deadline, caller).run(request_iterator)

    def _deadline(self, request: SearchRequest, context: Context) -> Deadline:
        return call_deadline(context, self._table.modes[modes.name_of(request.mode)].deadline_ms)

    def _prepare(
        self, request: SearchRequest, context: Context, caller: Caller, *, must_fit: bool = True
    ) -> tuple[Deadline, Planned]:
        validate.check(request, self._table)
        caller.require(request.include_lanes, "include_lanes")
        deadline = self._deadline(request, context)
        left_ms = deadline.remaining() * 1000
        planned = plan.make(request, self._table, left_ms, load=self.pressure(), now=self._now(), caller=caller)
        if must_fit and not planned.asked() and any(decision.bypassed for decision in planned.decisions):
            raise DeadlinePassed(f"no lane can answer in the {left_ms:.0f} ms left")
        return deadline, planned

    async def _finish(self, query: Query, asking: Round, outcomes: Sequence[Outcome]) -> SearchResponse:
        planned, origin, asked = asking.planned, query.origin, query.asked
        lanes_done = time.monotonic()
        outcomes = in_table_order(outcomes, self._table)
        query.fusing = fusing = self._fusion.begin(asking.request, planned, outcomes, asking.deadline)
        try:
            # Lets the call go out; the account of the lanes is written while fusion is at work.
            await asyncio.sleep(0)
            account = _account(planned, outcomes)
            fused = await fusing.fused()
        finally:
            fusing.cancel()
        if (late := await asking.advice()) is not None:
            account = _account(planned, in_table_order([*outcomes, late], self._table))
        response = fused.response
        response.MergeFrom(account)
        for row in response.ledger:
            row.kept = fused.kept.get(row.lane, 0)
        response.degradation = ledger.degradation(response.ledger, not fused.error)
        trace = telemetry.current()
        response.trace_id = trace.trace_id if trace else ""
        response.metrics.planning_ms = (asked - origin) * 1000
        response.metrics.lanes_ms = (lanes_done - asked) * 1000
        ended = time.monotonic()
        response.metrics.fusion_ms = (ended - lanes_done) * 1000
        response.elapsed_ms = (ended - origin) * 1000
        query.reply = response
        return response

    def _observed(self, request: SearchRequest) -> Observed:
        return Observed(request, self._tail)

    def _begin(self, query: Query, context: Context, caller: Caller) -> Round:
        """Plans; the lanes are asked when their outcomes are awaited."""
        query.planning = time.monotonic()
        deadline, planned = self._prepare(query.request, context, caller)
        query.asking = Round(self._table, self._fanout, query.request, planned, deadline, query.origin)
        query.asked = time.monotonic()
        return query.asking

    def _lane_ended(self, planned: Planned, outcomes: Sequence[Outcome], waiting: Sequence[str]) -> LaneEnded:
        said = planned.message
        order = provisional.order(outcomes, waiting, self._table, said.query_types, said.max_results)
        return LaneEnded(row=ledger.row(outcomes[-1]), provisional=order, waiting=waiting)


def _account(planned: Planned, outcomes: Sequence[Outcome]) -> SearchResponse:
    """What the reply says of plan and lanes."""
    rows = ledger.rows(planned, outcomes)
    account = SearchResponse(plan=planned.message, ledger=rows, metrics=ledger.metrics(rows))
    for outcome in outcomes:
        if outcome.lane == PREFLIGHT and outcome.reply is not None and outcome.reply.HasField("preflight"):
            account.preflight.CopyFrom(outcome.reply.preflight)
    return account
