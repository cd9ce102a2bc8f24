"""The story of one query: check it, plan, ask the lanes at once, fuse, reply with an account of what happened."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
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

from gateway import directory, ledger, plan, provisional, validate
from gateway.fanout import Fanout, Outcome
from gateway.fuse import Fusion
from gateway.ingest import Ingestion
from gateway.plan import Planned
from services.runtime import modes, telemetry
from services.runtime.boundary import Context, call_deadline, fail, guarded
from services.runtime.clients import Peers
from services.runtime.deadline import Deadline
from services.runtime.errors import DeadlinePassed, NotImplementedHere, Refused
from services.runtime.registry import Table

PREFLIGHT = "preflight"
INGEST_DEFAULT_MS = 600_000.0
LIST_DEFAULT_MS = 2_000.0

Now = Callable[[], datetime]


class Gateway(search_pb2_grpc.SearchServiceServicer):
    """Serves the front door."""

    def __init__(
        self, table: Table, peers: Peers, *, fusion: bool = True, now: Now = lambda: datetime.now(UTC)
    ) -> None:
        self._table = table
        self._peers = peers
        self._now = now
        self._fanout = Fanout(table, peers)
        self._fusion = Fusion(table, peers, fusion)

    @guarded
    async def Search(self, request: SearchRequest, context: Context) -> SearchResponse:
        """One answer."""
        origin = time.monotonic()
        deadline, planned = self._prepare(request, context)
        asked = time.monotonic()
        outcomes = await self._fanout.ask_all(request, planned, deadline, origin)
        return await self._finish(request, planned, outcomes, deadline, origin, asked)

    async def StreamSearch(self, request: StreamSearchRequest, context: Context) -> AsyncIterator[StreamSearchResponse]:
        """The plan, each lane as it ends, the answer."""
        try:
            async for event in self._events(request.search, context):
                yield event
        except Exception as error:  # noqa: BLE001  the boundary of a stream
            await fail(context, error)

    async def _events(self, request: SearchRequest, context: Context) -> AsyncIterator[StreamSearchResponse]:
        origin = time.monotonic()
        deadline, planned = self._prepare(request, context)
        yield StreamSearchResponse(plan=planned.message)
        asked = time.monotonic()
        outcomes: list[Outcome] = []
        async for outcome in self._fanout.ask_each(request, planned, deadline, origin):
            outcomes.append(outcome)
            yield StreamSearchResponse(lane=self._lane_ended(planned, outcomes))
        final = await self._finish(request, planned, outcomes, deadline, origin, asked)
        yield StreamSearchResponse(final=final)

    @guarded
    async def Plan(self, request: PlanRequest, context: Context) -> PlanResponse:
        """Explains; nothing runs."""
        _, planned = self._prepare(request.search, context, must_fit=False)
        return PlanResponse(plan=planned.message)

    @guarded
    async def Refine(self, request: RefineRequest, context: Context) -> RefineResponse:
        """Preflight alone: a search of that one lane, without fusion."""
        origin = time.monotonic()
        search = SearchRequest(query=request.query, mode=request.mode, include_lanes=[PREFLIGHT])
        if request.HasField("constraints"):
            search.constraints.CopyFrom(request.constraints)
        if not self._table.lanes[PREFLIGHT].enabled:
            raise NotImplementedHere("the preflight lane is not part of this mesh")
        deadline, planned = self._prepare(search, context)
        (outcome,) = await self._fanout.ask_all(search, planned, deadline, origin)
        if outcome.reply is None:
            raise Refused(f"preflight did not answer: {outcome.message}", reason=outcome.reason)
        return RefineResponse(preflight=outcome.reply.preflight)

    @guarded
    async def ListLanes(self, _request: ListLanesRequest, context: Context) -> ListLanesResponse:
        """The lanes and how they are."""
        return await directory.list_lanes(self._table, self._peers, call_deadline(context, LIST_DEFAULT_MS))

    @guarded
    async def Ingest(self, request_iterator: AsyncIterator[IngestRequest], context: Context) -> IngestResponse:
        """Stores in every index lane at once."""
        # The soft deadline, so that the account of a lane that hangs still arrives.
        deadline = call_deadline(context, INGEST_DEFAULT_MS).soft()
        return await Ingestion(self._table, self._peers, deadline).run(request_iterator)

    def _prepare(self, request: SearchRequest, context: Context, *, must_fit: bool = True) -> tuple[Deadline, Planned]:
        validate.check(request, self._table)
        deadline = call_deadline(context, self._table.modes[modes.name_of(request.mode)].deadline_ms)
        left_ms = deadline.remaining() * 1000
        planned = plan.make(request, self._table, left_ms, load=0.0, now=self._now())
        if must_fit and not planned.asked() and any(decision.bypassed for decision in planned.decisions):
            raise DeadlinePassed(f"no lane can answer in the {left_ms:.0f} ms left")
        return deadline, planned

    async def _finish(
        self,
        request: SearchRequest,
        planned: Planned,
        outcomes: Sequence[Outcome],
        deadline: Deadline,
        origin: float,
        asked: float,
    ) -> SearchResponse:
        lanes_done = time.monotonic()
        # Table order, so that the order of arrival never shows.
        place = {name: number for number, name in enumerate(self._table.lanes)}
        outcomes = sorted(outcomes, key=lambda outcome: place[outcome.lane])
        fusing = self._fusion.begin(request, planned, outcomes, deadline)
        try:
            # Lets the call go out; the account of the lanes is written while fusion is at work.
            await asyncio.sleep(0)
            account = _account(planned, outcomes)
            fused = await fusing.fused()
        finally:
            fusing.cancel()
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
        return response

    def _lane_ended(self, planned: Planned, outcomes: Sequence[Outcome]) -> LaneEnded:
        ended = {outcome.lane for outcome in outcomes}
        waiting = [row.name for row in planned.asked() if row.name not in ended]
        order = provisional.order(outcomes, self._table, planned.message.max_results)
        return LaneEnded(row=ledger.row(outcomes[-1]), provisional=order, waiting=waiting)


def _account(planned: Planned, outcomes: Sequence[Outcome]) -> SearchResponse:
    """What the reply says of plan and lanes."""
    rows = ledger.rows(planned, outcomes)
    account = SearchResponse(plan=planned.message, ledger=rows, metrics=ledger.metrics(rows))
    for outcome in outcomes:
        if outcome.lane == PREFLIGHT and outcome.reply is not None and outcome.reply.HasField("preflight"):
            account.preflight.CopyFrom(outcome.reply.preflight)
    return account
