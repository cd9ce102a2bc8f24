"""One trace through the whole mesh, exported when somebody asks for it and nearly free when nobody does."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import grpc
import pytest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub
from lanemesh.v1.search_pb2 import SearchRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from services.runtime import telemetry
from services.runtime.errors import InvalidRequest
from services.runtime.trace import NAME_ONLY, Trace
from tests.otlp import DO_NOT_SAMPLE, SAMPLE, SPAN_ID, TRACE_ID, UNSAMPLED, collected, failed, said, telemetry_restored
from tests.runtime.processes import ROOT
from tests.support import FakeLane, evidence, lane_server, mesh

QUESTION = RetrieveRequest(query="q", max_results=1)
SEARCH = SearchRequest(query="how are charges retried")


def test_outside_a_call_there_is_no_trace_to_carry() -> None:
    assert telemetry.current() is None
    assert telemetry.outgoing() == ()


@dataclass
class Traced(FakeLane):
    """A lane that notes the trace it was asked in."""

    traces: list[Trace | None] = field(default_factory=list)

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        self.traces.append(telemetry.current())
        assert telemetry.outgoing()
        await super().retrieve(request, reply)


async def test_one_trace_runs_from_the_client_through_the_gateway_to_the_lane() -> None:
    lane = Traced([evidence("one")])
    async with mesh({"keyword": lane}) as running:
        reply = await running.search.Search(SEARCH, metadata=DO_NOT_SAMPLE)
    assert reply.trace_id == TRACE_ID
    assert lane.traces == [Trace(TRACE_ID, SPAN_ID, False)]


@pytest.mark.parametrize("metadata", [(), (("traceparent", "00-nonsense"),)])
async def test_without_a_readable_trace_a_new_one_begins(metadata: tuple[tuple[str, str], ...]) -> None:
    lane = Traced([evidence("one")])
    async with mesh({"keyword": lane}) as running:
        replies = [await running.search.Search(SEARCH, metadata=metadata) for _ in range(2)]
    first, second = (reply.trace_id for reply in replies)
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert first != second
    assert [trace.trace_id for trace in lane.traces if trace] == [first, second]


@asynccontextmanager
async def asking(lane: FakeLane) -> AsyncIterator[LaneServiceStub]:
    async with lane_server("keyword", lane) as address, grpc.aio.insecure_channel(address) as channel:
        yield LaneServiceStub(channel)


async def test_spans_of_a_search_arrive_with_their_parents() -> None:
    async with collected() as collector, mesh({"keyword": FakeLane([evidence("one")])}) as running:
        await running.search.Search(SEARCH, metadata=SAMPLE)
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE_ID}
    assert collector.edges() == {
        (SPAN_ID, "SearchService/Search"),
        ("SearchService/Search", "plan"),
        ("SearchService/Search", "lane keyword"),
        ("lane keyword", "LaneService/Retrieve"),
        ("SearchService/Search", "fuse"),
        ("fuse", "FusionService/Fuse"),
        *(("FusionService/Fuse", stage) for stage in ("identity", "rank", "synthesise", "cite", "disagree")),
    }
    kinds = {span.name: span.kind for span in collector.spans}
    assert kinds["SearchService/Search"] == kinds["LaneService/Retrieve"] == Span.SPAN_KIND_SERVER
    assert kinds["lane keyword"] == kinds["fuse"] == Span.SPAN_KIND_CLIENT
    assert kinds["plan"] == kinds["rank"] == Span.SPAN_KIND_INTERNAL
    assert collector.services == {"mesh"}


async def test_no_child_leaves_its_parent_in_time() -> None:
    async with collected() as collector, mesh({"keyword": FakeLane([evidence("one")])}) as running:
        await running.search.Search(SEARCH, metadata=SAMPLE)
    spans = {span.span_id: span for span in collector.spans}
    for span in collector.spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if (parent := spans.get(span.parent_span_id)) is not None:
            assert parent.start_time_unix_nano <= span.start_time_unix_nano, (parent.name, span.name)
            assert span.end_time_unix_nano <= parent.end_time_unix_nano, (parent.name, span.name)


async def test_a_span_says_how_it_failed() -> None:
    async with collected() as collector, asking(FakeLane(error=InvalidRequest("query", "no"))) as stub:
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.Retrieve(QUESTION, metadata=SAMPLE)
    span = collector.one("LaneService/Retrieve")
    assert said(span) == {"error.type": "InvalidRequest", "rpc.response.status_code": "INVALID_ARGUMENT"}
    assert failed(span)


async def test_what_the_caller_does_not_sample_is_not_exported() -> None:
    async with collected(sample_rate=1.0) as collector, asking(FakeLane()) as stub:
        await stub.Retrieve(QUESTION, metadata=DO_NOT_SAMPLE)
    assert not collector.spans


@pytest.mark.parametrize(("sample_rate", "exported"), [(1.0, ["LaneService/Retrieve"]), (0.0, [])])
async def test_without_a_caller_who_decides_the_rate_does(sample_rate: float, exported: list[str]) -> None:
    async with collected(sample_rate) as collector, asking(FakeLane()) as stub:
        await stub.Retrieve(QUESTION)
    assert collector.names() == exported
    assert all(not span.parent_span_id for span in collector.spans)


@pytest.mark.parametrize(("sample_rate", "exported"), [(1.0, ["LaneService/Retrieve"]), (0.0, [])])
async def test_a_caller_who_gives_only_a_name_leaves_the_decision_and_the_root_to_the_server(
    sample_rate: float, exported: list[str]
) -> None:
    metadata = (("traceparent", UNSAMPLED), ("tracestate", NAME_ONLY))
    async with collected(sample_rate) as collector, asking(FakeLane()) as stub:
        await stub.Retrieve(QUESTION, metadata=metadata)
    assert collector.names() == exported
    assert all(span.trace_id.hex() == TRACE_ID and not span.parent_span_id for span in collector.spans)


async def test_a_block_is_a_span_of_the_call_it_runs_in() -> None:
    class Spanning(FakeLane):
        async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
            with telemetry.span("outer", "client", engine="e"), suppress(ValueError), telemetry.span("inner"):
                raise ValueError

    async with collected() as collector, asking(Spanning()) as stub:
        await stub.Retrieve(QUESTION, metadata=SAMPLE)
    assert {("LaneService/Retrieve", "outer"), ("outer", "inner")} <= collector.edges()
    assert said(collector.one("outer")) == {"engine": "e"}
    assert (said(collector.one("inner")), failed(collector.one("inner"))) == ({"error.type": "ValueError"}, True)


def test_outside_a_call_a_block_is_no_span() -> None:
    written: list[Span] = []
    with telemetry_restored():
        telemetry.use(written.append)  # type: ignore[arg-type]
        with telemetry.span("alone"):
            assert not telemetry.recording()
    assert not written


async def test_without_an_exporter_a_client_names_the_trace_and_leaves_the_rest_to_the_gateway() -> None:
    with telemetry.Calling("client Search") as calling:
        pass
    (traceparent, state) = calling.metadata
    assert traceparent == ("traceparent", f"00-{calling.trace_id}-{traceparent[1].split('-')[2]}-00")
    assert state == ("tracestate", NAME_ONLY)


async def test_a_client_with_an_exporter_is_the_root() -> None:
    async with collected(sample_rate=1.0) as collector, mesh({"keyword": FakeLane([evidence("one")])}) as running:
        with telemetry.Calling("client Search") as calling:
            reply = await running.search.Search(SEARCH, metadata=calling.metadata)
    assert reply.trace_id == calling.trace_id
    assert {("", "client Search"), ("client Search", "SearchService/Search")} <= collector.edges()


async def test_a_client_span_says_how_its_call_failed() -> None:
    async with collected(sample_rate=1.0) as collector:
        with pytest.raises(KeyError), telemetry.Calling("client Search"):
            raise KeyError
    assert (said(collector.one("client Search")), failed(collector.one("client Search"))) == (
        {"error.type": "KeyError"},
        True,
    )


async def test_a_client_continues_the_trace_it_is_given() -> None:
    async with collected() as collector:
        for caller in (Trace(TRACE_ID, SPAN_ID, True), Trace(TRACE_ID, SPAN_ID, False)):
            with telemetry.Calling("client Plan", caller) as calling:
                assert calling.trace_id == TRACE_ID
    assert collector.edges() == {(SPAN_ID, "client Plan")}
    assert len(collector.spans) == 1


async def test_without_an_endpoint_the_exporter_is_never_imported() -> None:
    program = (
        "import sys, gateway.__main__, services.runtime.__main__\n"
        "from services.runtime.telemetry import TelemetrySettings, configure, span\n"
        "configure('mesh', TelemetrySettings())()\n"
        "with span('nothing'): pass\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry') or 'exporter' in name])"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert output.decode().strip() == "[]"
