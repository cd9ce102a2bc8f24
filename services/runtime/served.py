"""Every call that a process serves: its trace made current, its time and status counted, a line written of it.

A call that is not sampled costs a header, a timer, two numbers and, where the log asks for it, a line.
"""

from __future__ import annotations

import logging
import time
from asyncio import CancelledError
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any, TypeAlias

import grpc

from services.runtime import telemetry
from services.runtime.metrics import Counters, Histograms, Levels, Tally
from services.runtime.spans import STATUS_CODE, Span
from services.runtime.trace import Trace, fresh, incoming

log = logging.getLogger(__name__)

RPCS = Counters("lanemesh_rpc", "Calls served, by method and status code.", ["method", "code"])
RPC_SECONDS = Histograms(
    "lanemesh_rpc_seconds",
    "Time to serve a call, by method.",
    (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0),
    ["method"],
)
IN_FLIGHT = Levels("lanemesh_rpc_in_flight", "Calls being served.").of()

# Asked so often, and telling so little, that they make no traces and no lines of their own.
_QUIET = ("Health/", "ServerReflection/")
# The statuses that are the fault of the one who serves.
_FAULTS = frozenset({"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"})


class Method:
    """The figures of one method, looked up once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds = RPC_SECONDS.of(name)
        self.quiet = name.startswith(_QUIET)
        self._codes: dict[str, Tally] = {}

    def count(self, code: str) -> None:
        """One call that ended so."""
        counter = self._codes.get(code)
        if counter is None:
            counter = self._codes[code] = RPCS.of(self.name, code)
        counter.value += 1.0


class Served:
    """One served call as a block."""

    __slots__ = ("_before", "_caller", "_context", "_method", "_started", "_trace")

    def __init__(self, method: Method, context: Any) -> None:
        self._method = method
        self._context = context

    def __enter__(self) -> None:
        caller, named = incoming(self._context.invocation_metadata())
        trace_id = caller.trace_id if caller and named else ""
        # Only a caller that has a span of its own has decided.
        self._caller = caller = None if named else caller
        sampled = caller.sampled if caller else not self._method.quiet and telemetry.sampled_anew()
        trace = caller or fresh(sampled, trace_id)
        self._started = time.perf_counter()
        IN_FLIGHT.value += 1.0
        if sampled and telemetry.exporting():
            above = caller.span_id if caller else ""
            span = Span(self._method.name, "server", trace.trace_id, above, time.time_ns())
            trace = Trace(span.trace_id, span.span_id, True, span)
        else:
            trace.late = self._late
        self._trace = trace
        self._before = telemetry.enter(trace)

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, traceback: TracebackType | None
    ) -> None:
        seconds = time.perf_counter() - self._started
        code = _code(self._context, failure)
        IN_FLIGHT.value -= 1.0
        span = self._trace.span
        if span is not None:
            self._end(span, seconds, code)
        self._method.seconds.observe(seconds, span.trace_id if span is not None else "")
        self._method.count(code)
        if log.isEnabledFor(logging.INFO) and not self._method.quiet:
            told = {"method": self._method.name, "code": code, "elapsed_ms": round(seconds * 1000, 3)}
            log.info("served", extra=told)
        self._trace.late = None
        telemetry.leave(self._before)

    def _late(self) -> Span:
        """The span of this call, recorded although it was not sampled: a root, since nobody recorded those above."""
        began = time.time_ns() - int((time.perf_counter() - self._started) * 1e9)
        span = Span(self._method.name, "server", self._trace.trace_id, "", began)
        span.link = self._caller.span_id if self._caller else ""
        self._trace.span = span
        return span

    def _end(self, span: Span, seconds: float, code: str) -> None:
        span.end = span.start + int(seconds * 1e9)
        span.attributes[STATUS_CODE] = code
        if code in _FAULTS:
            span.fail()
        telemetry.record(span)


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
