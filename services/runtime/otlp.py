"""Spans in the form that collectors read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from services.runtime.spans import NAMESPACE, Span, Value

_KINDS = {
    "internal": trace_pb2.Span.SPAN_KIND_INTERNAL,
    "server": trace_pb2.Span.SPAN_KIND_SERVER,
    "client": trace_pb2.Span.SPAN_KIND_CLIENT,
}
_FAILED = trace_pb2.Status(code=trace_pb2.Status.STATUS_CODE_ERROR)
# Spans encoded at a stretch, and the pause after it: the loop must not wait for the interpreter until a whole batch is
# done. A pause of nothing would not let it in.
_AT_ONCE = 16
_PAUSE = 0.0005


def request_of(service: str, spans: Sequence[Span]) -> ExportTraceServiceRequest:
    """The request that delivers these spans of a process."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    named = {"service.name": service, "service.namespace": "lanemesh"}
    resource.resource.attributes.extend(KeyValue(key=key, value=_value(value)) for key, value in named.items())
    scope = resource.scope_spans.add()
    scope.scope.name = "lanemesh"
    for place, span in enumerate(spans):
        if place % _AT_ONCE == _AT_ONCE - 1:
            time.sleep(_PAUSE)
        _write(span, scope.spans.add())
    return request


def _write(span: Span, made: trace_pb2.Span) -> None:
    made.trace_id = bytes.fromhex(span.trace_id)
    made.span_id = bytes.fromhex(span.span_id)
    if span.parent_id:
        made.parent_span_id = bytes.fromhex(span.parent_id)
    made.name = span.name
    made.kind = _KINDS[span.kind]
    made.start_time_unix_nano = span.start
    made.end_time_unix_nano = span.end
    made.attributes.extend(_pairs(span.attributes))
    for name, at, attributes in span.events:
        made.events.add(name=name, time_unix_nano=at, attributes=_pairs(attributes))
    if span.link:
        made.links.add(trace_id=made.trace_id, span_id=bytes.fromhex(span.link))
    if span.failed:
        made.status.CopyFrom(_FAILED)


def _pairs(attributes: Mapping[str, Value]) -> Iterable[KeyValue]:
    """The attributes that say something; those without a dot stand in our namespace."""
    for key, value in attributes.items():
        if value != "" and value != ():
            yield KeyValue(key=key if "." in key else NAMESPACE + key, value=_value(value))


def _value(value: Value) -> AnyValue:
    # A bool is an int to Python: it comes first.
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=each) for each in value]))
