"""Traces and metrics of every process. A call that is not sampled costs a header, a timer and two counters.

Trace context is W3C, carried in gRPC metadata. Spans are exported over OTLP when OTEL_EXPORTER_OTLP_ENDPOINT is set;
otherwise the exporter is never imported.
"""

from __future__ import annotations

import random
import re
import time
from asyncio import CancelledError
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

import grpc
from prometheus_client import Counter, Gauge, Histogram

from services.runtime.settings import setting

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

TRACEPARENT = "traceparent"
# Version, trace id, span id, flags, and what later versions may add.
_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")

RPCS = Counter("lanemesh_rpc_total", "Calls served, by method and status code.", ["method", "code"])
RPC_SECONDS = Histogram(
    "lanemesh_rpc_seconds",
    "Time to serve a call, by method.",
    ["method"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0),
)
IN_FLIGHT = Gauge("lanemesh_rpc_in_flight", "Calls being served.")


@dataclass(frozen=True)
class TelemetrySettings:
    """Where spans go and how many of them."""

    endpoint: str = setting("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    sample_rate: float = setting("LANEMESH_TRACE_SAMPLE_RATE", 0.01, low=0.0, high=1.0)


@dataclass(frozen=True, slots=True)
class Trace:
    """The place of one call in its trace."""

    trace_id: str
    span_id: str
    sampled: bool

    def header(self) -> str:
        """The W3C traceparent that makes this the parent of the next call."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


_current: ContextVar[Trace | None] = ContextVar("trace", default=None)
# Set once by `configure`; a process without an exporter keeps None and never starts a span.
_tracer: Tracer | None = None
_sample_rate = 0.0


def current() -> Trace | None:
    """The trace of the call being served; None outside a call."""
    return _current.get()


def parse(header: str) -> Trace | None:
    """A traceparent header, or None when it is not one."""
    found = _HEADER.fullmatch(header)
    if found is None:
        return None
    version, trace, span, flags, rest = found.groups()
    if version == "ff" or (version == "00" and rest) or not int(trace, 16) or not int(span, 16):
        return None
    return Trace(trace, span, bool(int(flags, 16) & 1))


def fresh(sampled: bool) -> Trace:
    """A new trace."""
    return Trace(f"{random.getrandbits(128) or 1:032x}", f"{random.getrandbits(64) or 1:016x}", sampled)


def outgoing() -> tuple[tuple[str, str], ...]:
    """Metadata that carries the current trace to the next process."""
    trace = _current.get()
    return ((TRACEPARENT, trace.header()),) if trace else ()


def configure(service: str, settings: TelemetrySettings) -> Callable[[], None]:
    """Starts exporting when an endpoint is set; returns what flushes and stops it."""
    global _tracer, _sample_rate
    _sample_rate = settings.sample_rate
    if not settings.endpoint:
        return lambda: None
    from services.runtime.exporter import start

    _tracer, stop = start(service, settings.endpoint)
    return stop


@contextmanager
def span(name: str, kind: str = "internal", **attributes: str | int | float | bool) -> Iterator[Trace | None]:
    """Records the block as a span of the current trace, if that is sampled and exported."""
    parent = _current.get()
    if _tracer is None or parent is None or not parent.sampled:
        yield parent
        return
    with _recorded(name, kind, parent) as (trace, recorded):
        recorded.set_attributes(attributes)
        yield trace


class Leg:
    """A client span of the current trace that ends when told to: its call outlives the block that began it."""

    def __init__(self, name: str, attributes: Mapping[str, str | int | float | bool]) -> None:
        from services.runtime.exporter import start_span

        assert _tracer is not None  # noqa: S101
        self._span = start_span(_tracer, name, "client", _current.get())
        self._span.set_attributes(attributes)

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Metadata that makes this span the parent of the call."""
        return ((TRACEPARENT, _identity(self._span).header()),)

    def end(self, seconds_ago: float, error: BaseException | None) -> None:
        """Ends the span at that instant, with the error's name when there was one."""
        if error is not None:
            self._span.set_attribute("error.type", type(error).__name__)
        self._span.end(time.time_ns() - int(seconds_ago * 1e9))


def leg(name: str, **attributes: str | int | float | bool) -> Leg | None:
    """A span for a call about to begin; None when the current trace is not sampled or nobody exports."""
    parent = _current.get()
    if _tracer is None or parent is None or not parent.sampled:
        return None
    return Leg(name, attributes)


@contextmanager
def _recorded(name: str, kind: str, parent: Trace | None) -> Iterator[tuple[Trace, Span]]:
    from services.runtime.exporter import start_span

    assert _tracer is not None  # noqa: S101
    recorded = start_span(_tracer, name, kind, parent)
    trace = _identity(recorded)
    try:
        with _made_current(trace):
            yield trace, recorded
    except BaseException as error:
        recorded.set_attribute("error.type", type(error).__name__)
        raise
    finally:
        recorded.end()


def _identity(recorded: Span) -> Trace:
    identity = recorded.get_span_context()
    return Trace(f"{identity.trace_id:032x}", f"{identity.span_id:016x}", True)


@contextmanager
def _made_current(trace: Trace) -> Iterator[None]:
    before = _current.get()
    _current.set(trace)
    try:
        yield
    finally:
        # Not reset(token): a stream that its caller left is closed in another context than it ran in.
        _current.set(before)


def _incoming(metadata: Iterable[tuple[str, str | bytes]] | None) -> Trace | None:
    for key, value in metadata or ():
        if key == TRACEPARENT and isinstance(value, str):
            return parse(value)
    return None


class Served:
    """One served call as a block: its trace made current, its time and status counted."""

    __slots__ = ("_before", "_context", "_method", "_recording", "_started")

    def __init__(self, method: Method, context: Any) -> None:
        self._method = method
        self._context = context
        self._recording: AbstractContextManager[Any] | None = None

    def __enter__(self) -> None:
        parent = _incoming(self._context.invocation_metadata())
        sampled = parent.sampled if parent else random.random() < _sample_rate  # noqa: S311
        self._started = time.perf_counter()
        IN_FLIGHT.inc()
        self._before = _current.get()
        if sampled and _tracer is not None:
            self._recording = _recorded(self._method.name, "server", parent)
            self._recording.__enter__()
        else:
            _current.set(parent or fresh(sampled))

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._recording is not None:
            self._recording.__exit__(kind, failure, traceback)
        # Not reset(token): a stream that its caller left is closed in another context than it ran in.
        _current.set(self._before)
        IN_FLIGHT.dec()
        self._method.seconds.observe(time.perf_counter() - self._started)
        self._method.count(_code(self._context, failure))


class Method:
    """The figures of one method, looked up once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds = RPC_SECONDS.labels(name)
        self._codes: dict[str, Counter] = {}

    def count(self, code: str) -> None:
        counter = self._codes.get(code)
        if counter is None:
            counter = self._codes[code] = RPCS.labels(self.name, code)
        counter.inc()


def _code(context: Any, failure: BaseException | None) -> str:
    # The context of a call that was cancelled, or whose handler failed, still says OK.
    if isinstance(failure, CancelledError | GeneratorExit):
        return "CANCELLED"
    code = context.code()
    if not code:
        return "UNKNOWN" if failure else "OK"
    return code.name if isinstance(code, grpc.StatusCode) else str(code)


Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Telemetry(grpc.aio.ServerInterceptor):
    """The one interceptor: wraps each method once and keeps the wrapped handler."""

    def __init__(self) -> None:
        self._wrapped: dict[str, Handler] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Returns the handler of the method, wrapped."""
        path = handler_call_details.method
        wrapped = self._wrapped.get(path)
        if wrapped is None:
            handler = await continuation(handler_call_details)
            # An unknown method has no handler; keeping it would let callers grow the table.
            if handler is None:
                return None
            wrapped = self._wrapped[path] = _wrap(path.rpartition(".")[2], handler)
        return wrapped


def _wrap(name: str, handler: Handler) -> Handler:
    method = Method(name)
    codec = {
        "request_deserializer": handler.request_deserializer,
        "response_serializer": handler.response_serializer,
    }
    if handler.response_streaming:
        # grpc's types know only plain iterators; every handler of ours, and of grpc's own services, is a generator.
        inner_stream: Callable[[Any, Any], AsyncGenerator[Any, None]]
        inner_stream = handler.unary_stream or handler.stream_stream  # type: ignore[assignment]

        async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
            with Served(method, context):
                async with aclosing(inner_stream(request, context)) as replies:
                    async for reply in replies:
                        yield reply

        make = (
            grpc.stream_stream_rpc_method_handler if handler.request_streaming else grpc.unary_stream_rpc_method_handler
        )
        return make(stream, **codec)

    inner = handler.unary_unary or handler.stream_unary

    async def unary(request: Any, context: Any) -> Any:
        with Served(method, context):
            return await inner(request, context)  # type: ignore[misc]

    make = grpc.stream_unary_rpc_method_handler if handler.request_streaming else grpc.unary_unary_rpc_method_handler
    return make(unary, **codec)
