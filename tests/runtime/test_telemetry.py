"""One trace through the whole mesh, exported when somebody asks for it and nearly free when nobody does."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub
from lanemesh.v1.search_pb2 import SearchRequest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client import REGISTRY

from services.runtime import telemetry
from services.runtime.errors import InvalidRequest
from services.runtime.server import Service
from services.runtime.telemetry import TelemetrySettings, Trace
from tests.runtime.conftest import Watched
from tests.runtime.processes import ROOT
from tests.support import FakeLane, evidence, lane_server, mesh, serving

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE_ID}-{SPAN_ID}-01"
UNSAMPLED = f"00-{TRACE_ID}-{SPAN_ID}-00"
QUESTION = RetrieveRequest(query="q", max_results=1)
SEARCH = SearchRequest(query="how are charges retried")


def test_a_header_is_read_and_written() -> None:
    assert telemetry.parse(SAMPLED) == Trace(TRACE_ID, SPAN_ID, True)
    assert telemetry.parse(UNSAMPLED) == Trace(TRACE_ID, SPAN_ID, False)
    for header in (SAMPLED, UNSAMPLED):
        trace = telemetry.parse(header)
        assert trace
        assert trace.header() == header


def test_other_flags_and_later_versions_are_read_as_far_as_they_are_known() -> None:
    assert telemetry.parse(f"00-{TRACE_ID}-{SPAN_ID}-03") == Trace(TRACE_ID, SPAN_ID, True)
    assert telemetry.parse(f"01-{TRACE_ID}-{SPAN_ID}-01-more") == Trace(TRACE_ID, SPAN_ID, True)


MALFORMED = [
    "",
    "nonsense",
    f"ff-{TRACE_ID}-{SPAN_ID}-01",
    f"zz-{TRACE_ID}-{SPAN_ID}-01",
    f"00-{'0' * 32}-{SPAN_ID}-01",
    f"00-{TRACE_ID}-{'0' * 16}-01",
    f"00-{TRACE_ID[1:]}-{SPAN_ID}-01",
    f"00-{TRACE_ID}-{SPAN_ID}",
    f"00-{TRACE_ID}-{SPAN_ID}-01-more",
    f"00-{TRACE_ID.upper()}-{SPAN_ID}-01",
    f"00-+{TRACE_ID[1:]}-{SPAN_ID}-01",
    f"00-{TRACE_ID[:15]}_{TRACE_ID[16:]}-{SPAN_ID}-01",
]


@pytest.mark.parametrize("header", MALFORMED)
def test_what_is_no_header_is_not_read(header: str) -> None:
    assert telemetry.parse(header) is None


@given(st.text(max_size=80) | st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?", fullmatch=True))
def test_any_text_is_a_header_that_can_be_passed_on_or_none(header: str) -> None:
    trace = telemetry.parse(header)
    assert trace is None or telemetry.parse(trace.header()) == trace


@pytest.mark.parametrize("sampled", [True, False])
def test_a_new_trace_is_a_valid_one_and_never_the_same(sampled: bool) -> None:
    traces = [telemetry.fresh(sampled) for _ in range(50)]
    assert all(telemetry.parse(trace.header()) == trace and trace.sampled is sampled for trace in traces)
    assert len({trace.trace_id for trace in traces}) == 50


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
        reply = await running.search.Search(SEARCH, metadata=((telemetry.TRACEPARENT, UNSAMPLED),))
    assert reply.trace_id == TRACE_ID
    assert lane.traces == [Trace(TRACE_ID, SPAN_ID, False)]


@pytest.mark.parametrize("metadata", [(), ((telemetry.TRACEPARENT, "00-nonsense"),)])
async def test_without_a_readable_trace_a_new_one_begins(metadata: tuple[tuple[str, str], ...]) -> None:
    lane = Traced([evidence("one")])
    async with mesh({"keyword": lane}) as running:
        replies = [await running.search.Search(SEARCH, metadata=metadata) for _ in range(2)]
    first, second = (reply.trace_id for reply in replies)
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert first != second
    assert [trace.trace_id for trace in lane.traces if trace] == [first, second]


def served(code: str, method: str = "LaneService/Retrieve") -> float:
    return REGISTRY.get_sample_value("lanemesh_rpc_total", {"method": method, "code": code}) or 0.0


@asynccontextmanager
async def counted(code: str, method: str = "LaneService/Retrieve") -> AsyncIterator[None]:
    """The block serves exactly one call of that method, and it ends with that code."""
    labels = {"method": method}
    before = served(code, method), REGISTRY.get_sample_value("lanemesh_rpc_seconds_count", labels) or 0.0
    yield
    after = served(code, method), REGISTRY.get_sample_value("lanemesh_rpc_seconds_count", labels)
    assert after == (before[0] + 1, before[1] + 1)
    assert REGISTRY.get_sample_value("lanemesh_rpc_in_flight") == 0


@asynccontextmanager
async def asking(lane: FakeLane) -> AsyncIterator[LaneServiceStub]:
    async with lane_server("keyword", lane) as address, grpc.aio.insecure_channel(address) as channel:
        yield LaneServiceStub(channel)


async def test_an_answer_is_counted() -> None:
    async with asking(FakeLane()) as stub, counted("OK"):
        await stub.Retrieve(QUESTION)


@pytest.mark.parametrize(
    ("error", "code"), [(InvalidRequest("query", "no"), "INVALID_ARGUMENT"), (RuntimeError("broken"), "INTERNAL")]
)
async def test_an_error_is_counted_by_its_status(error: Exception, code: str) -> None:
    async with asking(FakeLane(error=error)) as stub, counted(code):
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.Retrieve(QUESTION)


async def test_a_call_that_its_caller_left_is_counted_as_cancelled() -> None:
    lane = Watched(gate=asyncio.Event())
    async with asking(lane) as stub, asyncio.timeout(30), counted("CANCELLED"):
        call = stub.Retrieve(QUESTION, timeout=60)
        await lane.started.wait()
        call.cancel()
        await lane.ended.wait()


def service_of(method: str, handler: Any) -> Service:
    generic = grpc.method_handlers_generic_handler("test.Service", {method: handler})
    return Service("test.Service", lambda server: server.add_generic_rpc_handlers((generic,)))


async def test_a_handler_without_a_boundary_that_fails_is_counted_as_unknown() -> None:
    async def fail(_request: bytes, _context: Any) -> bytes:
        raise RuntimeError("broken")

    service = service_of("Fail", grpc.unary_unary_rpc_method_handler(fail))
    async with (
        serving(service) as address,
        grpc.aio.insecure_channel(address) as channel,
        counted("UNKNOWN", "Service/Fail"),
    ):
        with pytest.raises(grpc.aio.AioRpcError):
            await channel.unary_unary("/test.Service/Fail")(b"")


async def test_a_stream_that_its_caller_left_is_closed_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    closed = asyncio.Event()

    async def flood(_request: bytes, _context: Any) -> AsyncIterator[bytes]:
        try:
            while True:
                # More than flow control lets pass, so that the caller leaves while a message is being sent.
                yield bytes(1 << 20)
        finally:
            closed.set()

    service = service_of("Flood", grpc.unary_stream_rpc_method_handler(flood))
    async with (
        asyncio.timeout(30),
        serving(service) as address,
        grpc.aio.insecure_channel(address) as channel,
        counted("CANCELLED", "Service/Flood"),
    ):
        call = channel.unary_stream("/test.Service/Flood")(b"")
        await call.read()
        call.cancel()
        await closed.wait()
    # gRPC itself may complain that its message had nowhere to go; nothing else may.
    assert not [record for record in caplog.records if "ExecuteBatchError" not in record.getMessage()]


async def test_an_unknown_method_is_refused_and_not_remembered() -> None:
    async with serving() as address, grpc.aio.insecure_channel(address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/test.Service/Gossip")(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert REGISTRY.get_sample_value("lanemesh_rpc_seconds_count", {"method": "Service/Gossip"}) is None


@dataclass
class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Takes spans as an OTLP collector does."""

    spans: dict[str, Span] = field(default_factory=dict)
    services: set[str] = field(default_factory=set)

    async def Export(self, request: Any, _context: Any) -> trace_service_pb2.ExportTraceServiceResponse:
        for resource in request.resource_spans:
            attributes = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
            self.services.add(attributes["service.name"])
            self.spans |= {span.name: span for scope in resource.scope_spans for span in scope.spans}
        return trace_service_pb2.ExportTraceServiceResponse()

    def parent(self, name: str) -> str:
        """The name of the span above, or its id when it is not one of these."""
        above = self.spans[name].parent_span_id
        return next((other.name for other in self.spans.values() if other.span_id == above), above.hex())


@pytest.fixture
def exporting_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts back what `configure` changes for the whole process."""
    monkeypatch.setattr(telemetry, "_tracer", None)
    monkeypatch.setattr(telemetry, "_sample_rate", 0.0)


@asynccontextmanager
async def collected(sample_rate: float = 0.0) -> AsyncIterator[Collector]:
    """A collector that has every span of the block when the block ends."""
    collector = Collector()
    server = grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    stop = telemetry.configure("mesh", TelemetrySettings(f"http://127.0.0.1:{port}", sample_rate))
    yield collector
    await asyncio.to_thread(stop)
    await server.stop(None)


@pytest.mark.usefixtures("exporting_ends")
async def test_spans_of_a_search_arrive_with_their_parents() -> None:
    async with collected() as collector, mesh({"keyword": FakeLane([evidence("one")])}) as running:
        await running.search.Search(SEARCH, metadata=((telemetry.TRACEPARENT, SAMPLED),))
    assert {span.trace_id.hex() for span in collector.spans.values()} == {TRACE_ID}
    assert collector.parent("SearchService/Search") == SPAN_ID
    assert collector.parent("lane keyword") == "SearchService/Search"
    assert collector.parent("LaneService/Retrieve") == "lane keyword"
    assert collector.parent("FusionService/Fuse") in collector.spans
    kinds = {name: collector.spans[name].kind for name in ("lane keyword", "LaneService/Retrieve")}
    assert kinds == {"lane keyword": Span.SPAN_KIND_CLIENT, "LaneService/Retrieve": Span.SPAN_KIND_SERVER}
    assert collector.services == {"mesh"}


@pytest.mark.usefixtures("exporting_ends")
async def test_a_span_says_how_it_failed() -> None:
    async with collected() as collector, asking(FakeLane(error=InvalidRequest("query", "no"))) as stub:
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.Retrieve(QUESTION, metadata=((telemetry.TRACEPARENT, SAMPLED),))
    attributes = {pair.key for pair in collector.spans["LaneService/Retrieve"].attributes}
    assert "error.type" in attributes


@pytest.mark.usefixtures("exporting_ends")
async def test_what_the_caller_does_not_sample_is_not_exported() -> None:
    async with collected(sample_rate=1.0) as collector, asking(FakeLane()) as stub:
        await stub.Retrieve(QUESTION, metadata=((telemetry.TRACEPARENT, UNSAMPLED),))
    assert not collector.spans


@pytest.mark.usefixtures("exporting_ends")
@pytest.mark.parametrize(("sample_rate", "exported"), [(1.0, ["LaneService/Retrieve"]), (0.0, [])])
async def test_without_a_caller_who_decides_the_rate_does(sample_rate: float, exported: list[str]) -> None:
    async with collected(sample_rate) as collector, asking(FakeLane()) as stub:
        await stub.Retrieve(QUESTION)
    assert list(collector.spans) == exported
    assert all(not span.parent_span_id for span in collector.spans.values())


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
