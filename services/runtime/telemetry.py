"""The trace of the call being served: where it comes from, where it goes, and what is recorded of it.

Trace context is W3C, carried in gRPC metadata. Spans are recorded only in calls that are sampled, and only when
OTEL_EXPORTER_OTLP_ENDPOINT says where to send them; otherwise the exporter is never imported.
"""

from __future__ import annotations

import random
import time
from asyncio import CancelledError
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from services.runtime.settings import setting
from services.runtime.spans import Kind, Span, Value, new_id
from services.runtime.trace import NAME_ONLY, TRACEPARENT, TRACESTATE, Leg, Metadata, Trace, fresh


@dataclass(frozen=True)
class TelemetrySettings:
    """Where spans go, how many of them, and what they may say."""

    endpoint: str = setting("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    # name=value, comma-separated; what a collector wants to know who sends.
    headers: tuple[str, ...] = setting("OTEL_EXPORTER_OTLP_HEADERS", ())
    certificate: Path | None = setting("OTEL_EXPORTER_OTLP_CERTIFICATE", None)
    sample_rate: float = setting("LANEMESH_TRACE_SAMPLE_RATE", 0.01, low=0.0, high=1.0)
    tail_per_second: float = setting("LANEMESH_TRACE_TAIL_PER_SECOND", 20.0, low=0.0, high=10_000.0)
    query_text: bool = setting("LANEMESH_TRACE_QUERY_TEXT", False)
    queue: int = setting("LANEMESH_TRACE_QUEUE", 8_192, low=1, high=1_000_000)


Sink = Callable[[Span], None]

_current: ContextVar[Trace | None] = ContextVar("trace", default=None)
# Set once by `configure`; a process without an exporter keeps None and never records a span.
_sink: Sink | None = None
_settings = TelemetrySettings()


def current() -> Trace | None:
    """The trace of the call being served; None outside a call."""
    return _current.get()


def recording() -> bool:
    """Whether what happens now is recorded."""
    trace = _current.get()
    return trace is not None and trace.span is not None


def exporting() -> bool:
    """Whether spans go anywhere."""
    return _sink is not None


def settings() -> TelemetrySettings:
    """The settings of this process."""
    return _settings


def sampled_anew() -> bool:
    """Whether a trace that begins here is sampled."""
    return random.random() < _settings.sample_rate  # noqa: S311


def outgoing() -> Metadata:
    """Metadata that carries the current trace to the next process."""
    trace = _current.get()
    return ((TRACEPARENT, trace.header()),) if trace else ()


def leg() -> Leg | None:
    """A span for a call about to begin; None when the current call is not recorded."""
    trace = _current.get()
    if trace is None or trace.span is None:
        return None
    made = new_id()
    return Leg(made, ((TRACEPARENT, f"00-{trace.trace_id}-{made}-01"),))


def record(span: Span) -> None:
    """Hands over a span that has ended."""
    if _sink is not None:
        _sink(span)


def configure(service: str, settings: TelemetrySettings) -> Callable[[], None]:
    """Starts exporting when an endpoint is set; returns what flushes and stops it."""
    global _settings
    _settings = settings
    if not settings.endpoint:
        return lambda: None
    from services.runtime.exporter import start

    sink, stop = start(service, settings)
    use(sink)
    return stop


def use(sink: Sink | None) -> None:
    """Where spans go from now on."""
    global _sink
    _sink = sink


def span(name: str, kind: Kind = "internal", **attributes: Value) -> AbstractContextManager[Span | None]:
    """Records the block as a span of the current call, if that is recorded."""
    parent = _current.get()
    if parent is None or parent.span is None:
        return _NOTHING
    return _Block(Span(name, kind, parent.trace_id, parent.span_id, time.time_ns()), attributes)


class Calling:
    """A call that a client makes, as a block: a span when the trace is sampled and this process exports.

    It stands below the call being served, or the one that `caller` names; else it begins a trace. It is not made
    current: the block may be that of a generator, whose reader goes on in the same context.
    """

    def __init__(self, name: str, caller: Trace | None = None) -> None:
        above = caller or _current.get()
        trace = above or fresh(_sink is not None and sampled_anew())
        self.trace_id = trace.trace_id
        self.metadata: Metadata = ((TRACEPARENT, trace.header()),)
        self.span: Span | None = None
        if _sink is None:
            self.metadata += () if above else ((TRACESTATE, NAME_ONLY),)
        elif trace.sampled:
            self.span = Span(name, "client", trace.trace_id, above.span_id if above else "", time.time_ns())
            self.metadata = ((TRACEPARENT, Trace(trace.trace_id, self.span.span_id, True).header()),)
        self._begun = time.perf_counter_ns()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.span is None:
            return
        self.span.end = self.span.start + time.perf_counter_ns() - self._begun
        if kind not in (None, GeneratorExit, CancelledError):
            self.span.fail(kind.__name__ if kind else "")
        record(self.span)


def failed(error: BaseException) -> None:
    """Says in the current span what ended its call."""
    trace = _current.get()
    if trace is not None and trace.span is not None:
        trace.span.fail(type(error).__name__)


def enter(trace: Trace) -> Trace | None:
    """Makes a trace the current one; returns the one before, for `leave`."""
    before = _current.get()
    _current.set(trace)
    return before


def leave(before: Trace | None) -> None:
    """Puts back the trace before. Not reset(token): a stream that its caller left is closed in another context."""
    _current.set(before)


class _Block:
    """A span around a block."""

    __slots__ = ("_before", "_begun", "_span")

    def __init__(self, span: Span, attributes: dict[str, Value]) -> None:
        self._span = span
        span.attributes = attributes

    def __enter__(self) -> Span:
        span = self._span
        self._begun = time.perf_counter_ns()
        self._before = enter(Trace(span.trace_id, span.span_id, True, span))
        return span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        leave(self._before)
        span = self._span
        span.end = span.start + time.perf_counter_ns() - self._begun
        if kind is not None:
            span.fail(kind.__name__)
        record(span)


class _Nothing:
    """The block of a span that is not recorded."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


_NOTHING = _Nothing()
