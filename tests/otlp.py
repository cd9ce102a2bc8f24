"""An OTLP collector inside the test, and the traces it was sent read as trees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from services.runtime import telemetry
from services.runtime.telemetry import TelemetrySettings

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE_ID}-{SPAN_ID}-01"
UNSAMPLED = f"00-{TRACE_ID}-{SPAN_ID}-00"
SAMPLE = (("traceparent", SAMPLED),)
DO_NOT_SAMPLE = (("traceparent", UNSAMPLED),)

Value = str | bool | int | float | list[str]


@dataclass
class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Takes spans as an OTLP collector does."""

    spans: list[Span] = field(default_factory=list)
    services: set[str] = field(default_factory=set)
    metadata: dict[str, str] = field(default_factory=dict)
    requests: int = 0

    async def Export(self, request: Any, context: Any) -> trace_service_pb2.ExportTraceServiceResponse:
        self.requests += 1
        self.metadata = dict(context.invocation_metadata())
        for resource in request.resource_spans:
            attributes = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
            self.services.add(attributes["service.name"])
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()

    def names(self) -> list[str]:
        """The names of all spans, in order."""
        return sorted(span.name for span in self.spans)

    def named(self, name: str) -> list[Span]:
        """The spans of that name, the earliest first."""
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start_time_unix_nano)

    def one(self, name: str) -> Span:
        """The only span of that name."""
        (span,) = self.named(name)
        return span

    def edges(self) -> set[tuple[str, str]]:
        """Parent and child by name; a parent that is not here by its id, none as an empty text."""
        names = {span.span_id: span.name for span in self.spans}
        return {(names.get(span.parent_span_id, span.parent_span_id.hex()), span.name) for span in self.spans}

    def text(self) -> str:
        """Everything that was sent."""
        return "\n".join(str(span) for span in self.spans)


def said(span: Span | Span.Event) -> dict[str, Value]:
    """The attributes, without our namespace."""
    return {pair.key.removeprefix("lanemesh."): _plain(pair.value) for pair in span.attributes}


def events(span: Span) -> list[tuple[str, dict[str, Value]]]:
    """What happened in the span."""
    return [(event.name, said(event)) for event in span.events]


def failed(span: Span) -> bool:
    """Whether the span says that it failed."""
    return span.status.code == Status.STATUS_CODE_ERROR


def _plain(value: AnyValue) -> Value:
    if value.HasField("array_value"):
        return [each.string_value for each in value.array_value.values]
    found: Value = getattr(value, value.WhichOneof("value") or "string_value")
    return found


@contextmanager
def telemetry_restored() -> Iterator[None]:
    """Puts back what `configure` changes for the whole process."""
    try:
        yield
    finally:
        telemetry.configure("", TelemetrySettings())
        telemetry.use(None)


@asynccontextmanager
async def listening(collector: trace_service_pb2_grpc.TraceServiceServicer) -> AsyncIterator[str]:
    """The collector on a free port; yields its endpoint."""
    server = grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await server.stop(None)


@asynccontextmanager
async def collected(sample_rate: float = 0.0, **settings: Any) -> AsyncIterator[Collector]:
    """A collector that has every span of the block when the block ends."""
    collector = Collector()
    with telemetry_restored():
        async with listening(collector) as endpoint:
            stop = telemetry.configure("mesh", TelemetrySettings(endpoint, sample_rate=sample_rate, **settings))
            yield collector
            await asyncio.to_thread(stop)
