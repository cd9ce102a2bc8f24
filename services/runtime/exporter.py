"""Sends spans to an OTLP collector from a thread of its own. Imported only when there is one.

Nobody waits for it: what the bounded queue cannot hold is dropped and counted, what cannot be delivered is lost and
counted, and a collector that fails is left alone for a growing while.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from services.runtime.errors import StartupError
from services.runtime.metrics import Counters
from services.runtime.otlp import request_of
from services.runtime.spans import Span
from services.runtime.telemetry import Sink, TelemetrySettings

log = logging.getLogger(__name__)

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
BATCH = 512
# A batch leaves when it is full, or this much later.
DELAY = 1.0
# How long one batch may take to be delivered, and how long the last ones at the end of the process.
TIME_OUT = 5.0
LAST_WORDS = 2.0
FIRST_REST, LONGEST_REST = 1.0, 30.0

SPANS = Counters("lanemesh_spans", "Spans by what became of them: exported, dropped, lost.", ["fate"])

Send = Callable[[ExportTraceServiceRequest, float], None]


class Exporter:
    """The queue and its thread. `put` is called by one thread, the loop's."""

    def __init__(self, service: str, limit: int, send: Send, *, delay: float = DELAY, rest: float = FIRST_REST) -> None:
        self._service = service
        self._limit = limit
        self._send = send
        self._delay = delay
        self._first_rest = self._rest = rest
        self._queue: deque[Span] = deque()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._exported, self._dropped, self._lost = (SPANS.of(fate) for fate in ("exported", "dropped", "lost"))
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    def put(self, span: Span) -> None:
        """Takes a span, or drops it when there are too many."""
        waiting = len(self._queue)
        if waiting >= self._limit:
            self._dropped.value += 1.0
            return
        self._queue.append(span)
        if waiting == BATCH:
            self._wake.set()

    def stop(self) -> bool:
        """Sends what is there, for no longer than a moment; whether that was enough."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(LAST_WORDS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(self._delay)
            self._wake.clear()
            self._flush()
        self._flush()

    def _flush(self) -> None:
        """Sends what is there, and goes on while there are whole batches, or to the last when the process ends."""
        while batch := self._batch():
            delivered = self._deliver(batch)
            if not delivered or not (self._stopping.is_set() or len(self._queue) >= BATCH):
                return

    def _deliver(self, batch: Sequence[Span]) -> bool:
        try:
            self._send(request_of(self._service, batch), TIME_OUT)
        except Exception as error:  # noqa: BLE001  whatever it is, the thread must live and the queue stay bounded
            self._failed(len(batch), error)
            # While the collector rests nothing is encoded for it; the queue fills, and then drops.
            self._stopping.wait(self._rest)
            self._rest = min(LONGEST_REST, 2 * self._rest)
            return False
        self._exported.value += len(batch)
        self._rest = self._first_rest
        return True

    def _batch(self) -> list[Span]:
        return [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]

    def _failed(self, count: int, error: Exception) -> None:
        self._lost.value += count
        if self._rest == self._first_rest:
            code = error.code().name if isinstance(error, grpc.Call) else type(error).__name__
            log.warning("%d spans were not delivered: %s; further ones are only counted", count, code)


def start(service: str, settings: TelemetrySettings) -> tuple[Sink, Callable[[], None]]:
    """What takes spans, and what flushes and stops it."""
    channel = _channel(settings)
    export: grpc.UnaryUnaryMultiCallable[ExportTraceServiceRequest, ExportTraceServiceResponse] = channel.unary_unary(
        EXPORT,
        request_serializer=ExportTraceServiceRequest.SerializeToString,
        response_deserializer=ExportTraceServiceResponse.FromString,
    )
    headers = _headers(settings.headers)

    def send(request: ExportTraceServiceRequest, seconds: float) -> None:
        export(request, timeout=seconds, metadata=headers)

    exporter = Exporter(service, settings.queue, send, delay=DELAY)

    def stop() -> None:
        exporter.stop()
        # Ends a call that hangs, and with it the thread.
        channel.close()

    return exporter.put, stop


def _channel(settings: TelemetrySettings) -> grpc.Channel:
    """By the scheme of the endpoint: http in the clear, https with TLS; without one, in the clear."""
    options = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
    parts = urlsplit(settings.endpoint if "://" in settings.endpoint else f"http://{settings.endpoint}")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise StartupError("OTEL_EXPORTER_OTLP_ENDPOINT must be like http://host:4317")
    if parts.scheme == "http":
        return grpc.insecure_channel(parts.netloc, options)
    try:
        root = settings.certificate.read_bytes() if settings.certificate else None
    except OSError as error:
        raise StartupError(f"OTEL_EXPORTER_OTLP_CERTIFICATE cannot be read: {error.strerror}") from None
    return grpc.secure_channel(parts.netloc, grpc.ssl_channel_credentials(root), options)


def _headers(pairs: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = [pair.partition("=") for pair in pairs]
    # The values may be secrets: the error names none.
    if any(not equals or not name.strip() for name, equals, _ in found):
        raise StartupError("OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs, separated by commas")
    return tuple((name.strip().lower(), value.strip()) for name, _, value in found)
