"""Spans in the form that collectors read, made by OpenTelemetry's own SDK in the exporter's thread."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from services.runtime.spans import NAMESPACE, Span, Value

_KINDS = {"internal": SpanKind.INTERNAL, "server": SpanKind.SERVER, "client": SpanKind.CLIENT}
_SCOPE = InstrumentationScope("lanemesh")
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_FAILED, _UNSET = Status(StatusCode.ERROR), Status(StatusCode.UNSET)
# Spans encoded at a stretch, and the pause after it: the loop must not wait for the interpreter until a whole batch is
# done. A pause of nothing would not let it in.
_AT_ONCE = 16
_PAUSE = 0.0005


def request_of(service: str, spans: Sequence[Span]) -> ExportTraceServiceRequest:
    """The request that delivers these spans of a process."""
    resource = _resource(service)
    request = _encoded(spans[:_AT_ONCE], resource)
    for start in range(_AT_ONCE, len(spans), _AT_ONCE):
        time.sleep(_PAUSE)
        more = _encoded(spans[start : start + _AT_ONCE], resource)
        # All of one process and one scope: one list on the wire.
        request.resource_spans[0].scope_spans[0].spans.MergeFrom(more.resource_spans[0].scope_spans[0].spans)
    return request


def _encoded(spans: Sequence[Span], resource: Resource) -> ExportTraceServiceRequest:
    return encode_spans([_readable(span, resource) for span in spans])


@lru_cache(maxsize=8)
def _resource(service: str) -> Resource:
    """The process, and what OTEL_RESOURCE_ATTRIBUTES says of it."""
    return Resource.create({"service.name": service, "service.namespace": "lanemesh"})


def _readable(span: Span, resource: Resource) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace_id, span.span_id),
        parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
        resource=resource,
        attributes=_named(span.attributes),
        events=[Event(name, _named(attributes), at) for name, at, attributes in span.events],
        links=[Link(_context(span.trace_id, span.link))] if span.link else (),
        kind=_KINDS[span.kind],
        status=_FAILED if span.failed else _UNSET,
        start_time=span.start,
        end_time=span.end,
        instrumentation_scope=_SCOPE,
    )


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=_SAMPLED)


def _named(attributes: Mapping[str, Value]) -> dict[str, Value]:
    """The attributes that say something; those without a dot stand in our namespace."""
    return {
        key if "." in key else NAMESPACE + key: value
        for key, value in attributes.items()
        if value != "" and value != ()
    }
