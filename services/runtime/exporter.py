"""The OpenTelemetry side of telemetry, imported only when spans are exported."""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    TraceFlags,
    Tracer,
    set_span_in_context,
)

from services.runtime import telemetry

_KINDS = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}


def start(service: str, endpoint: str) -> tuple[Tracer, Callable[[], None]]:
    """A tracer that exports in the background, bounded; and what stops it. Sampling was decided before."""
    provider = TracerProvider(
        sampler=ALWAYS_ON,
        resource=Resource.create({"service.name": service, "service.namespace": "lanemesh"}),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(endpoint=endpoint, insecure=endpoint.startswith("http://"))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer("lanemesh"), provider.shutdown


def start_span(tracer: Tracer, name: str, kind: str, parent: telemetry.Trace | None) -> Span:
    """A span below `parent`, or the root of a new trace."""
    if parent is None:
        return tracer.start_span(name, kind=_KINDS[kind])
    identity = SpanContext(
        int(parent.trace_id, 16), int(parent.span_id, 16), is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )
    return tracer.start_span(name, context=set_span_in_context(NonRecordingSpan(identity)), kind=_KINDS[kind])
