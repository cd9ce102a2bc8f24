"""The way to a collector: bounded, counted, and never waited for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client import REGISTRY

from services.runtime import exporter, telemetry
from services.runtime.errors import StartupError
from services.runtime.exporter import BATCH, Exporter
from services.runtime.spans import Span
from services.runtime.telemetry import TelemetrySettings
from tests.otlp import SPAN_ID, TRACE_ID, Collector, collected, events, failed, listening, said, telemetry_restored
from tests.support import NOBODY


def span(name: str = "work") -> Span:
    return Span(name, "internal", TRACE_ID, SPAN_ID, time.time_ns())


class Fates:
    """What became of spans since this was made."""

    def __init__(self) -> None:
        self._before = self._now()

    def __call__(self) -> dict[str, float]:
        now = self._now()
        return {fate: now[fate] - self._before[fate] for fate in now if now[fate] != self._before[fate]}

    def _now(self) -> dict[str, float]:
        return {
            fate: REGISTRY.get_sample_value("lanemesh_spans_total", {"fate": fate}) or 0.0
            for fate in ("exported", "dropped", "lost")
        }


@pytest.fixture
def fates() -> Fates:
    return Fates()


class Receiver:
    """Takes batches when it is let, and may refuse them."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.entered = threading.Event()
        self.open = threading.Event()
        self.error: Exception | None = None

    def __call__(self, request: ExportTraceServiceRequest, _seconds: float) -> None:
        self.entered.set()
        self.open.wait(30)
        if self.error is not None:
            raise self.error
        self.batches.append(len(request.resource_spans[0].scope_spans[0].spans))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.open.set()


async def test_everything_a_span_holds_arrives() -> None:
    made = span("whole")
    made.end = made.start + 5
    made.set(text="x", flag=True, count=3, share=0.5, names=("a", "b"), nothing="", none=())
    made.event("hedge", made.start + 2, state="OPEN")
    made.link = "00f067aa0ba902b7"
    made.fail("ValueError")
    async with collected() as collector:
        telemetry.record(made)
    got = collector.one("whole")
    assert (got.trace_id.hex(), got.parent_span_id.hex(), got.span_id.hex()) == (TRACE_ID, SPAN_ID, made.span_id)
    assert (got.start_time_unix_nano, got.end_time_unix_nano) == (made.start, made.start + 5)
    wanted = {"text": "x", "flag": True, "count": 3, "share": 0.5, "names": ["a", "b"], "error.type": "ValueError"}
    assert said(got) == wanted
    assert {pair.key for pair in got.attributes} >= {"lanemesh.text", "error.type"}
    assert (events(got), got.events[0].time_unix_nano) == ([("hedge", {"state": "OPEN"})], made.start + 2)
    assert (got.links[0].span_id.hex(), failed(got)) == ("00f067aa0ba902b7", True)


async def test_a_collector_may_ask_for_headers() -> None:
    async with collected(headers=("api-key=hunter2", "x-tenant = us")) as collector:
        telemetry.record(span())
    assert (collector.metadata["api-key"], collector.metadata["x-tenant"]) == ("hunter2", "us")


def test_what_the_queue_cannot_hold_is_dropped_and_counted(receiver: Receiver, fates: Fates) -> None:
    made = Exporter("test", 3, receiver, delay=0.0)
    made.put(span())
    receiver.entered.wait(30)
    for _ in range(10):
        made.put(span())
    receiver.open.set()
    assert made.stop()
    assert fates() == {"exported": 4, "dropped": 7}


def test_a_full_batch_leaves_at_once(receiver: Receiver) -> None:
    receiver.open.set()
    made = Exporter("test", 10 * BATCH, receiver, delay=3_600.0)
    for _ in range(BATCH + 1):
        made.put(span())
    receiver.entered.wait(30)
    assert made.stop()
    assert sum(receiver.batches) == BATCH + 1


def test_what_cannot_be_delivered_is_lost_counted_and_told_once(
    receiver: Receiver, fates: Fates, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.open.set()
    receiver.error = grpc.RpcError()
    made = Exporter("test", 10, receiver, delay=0.0, rest=0.0)
    for _ in range(3):
        receiver.entered.clear()
        made.put(span())
        receiver.entered.wait(30)
    assert made.stop()
    assert fates() == {"lost": 3}
    assert [record.getMessage() for record in caplog.records if "not delivered" in record.getMessage()]


def test_a_span_that_cannot_be_encoded_does_not_end_the_thread(receiver: Receiver, fates: Fates) -> None:
    receiver.open.set()
    made = Exporter("test", 10, receiver, delay=0.0, rest=0.0)
    broken = span()
    broken.trace_id = "no hexadecimal"
    made.put(broken)
    while fates() != {"lost": 1}:
        time.sleep(0)
    made.put(span())
    assert made.stop()
    assert fates() == {"lost": 1, "exported": 1}


@pytest.mark.parametrize("endpoint", ["ftp://host:1", "http://", "https:///x"])
def test_an_endpoint_that_is_none_is_refused(endpoint: str) -> None:
    with telemetry_restored(), pytest.raises(StartupError, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        telemetry.configure("test", TelemetrySettings(endpoint))


def test_headers_that_are_none_are_refused_without_showing_them() -> None:
    with telemetry_restored(), pytest.raises(StartupError, match="OTEL_EXPORTER_OTLP_HEADERS") as raised:
        telemetry.configure("test", TelemetrySettings("http://host:1", headers=("hunter2",)))
    assert "hunter2" not in raised.value.message


def test_a_certificate_that_cannot_be_read_is_refused(tmp_path: Any) -> None:
    settings = TelemetrySettings("https://host:1", certificate=tmp_path / "none.pem")
    with telemetry_restored(), pytest.raises(StartupError, match="OTEL_EXPORTER_OTLP_CERTIFICATE"):
        telemetry.configure("test", settings)


async def test_a_dead_collector_costs_nothing_but_spans(fates: Fates) -> None:
    with telemetry_restored():
        stop = telemetry.configure("test", TelemetrySettings(f"http://{NOBODY}"))
        telemetry.record(span())
        await asyncio.to_thread(stop)
    assert fates() == {"lost": 1}


class Hanging(Collector):
    """A collector that takes a batch and never says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def Export(self, request: Any, context: Any) -> Any:
        self.asked.set()
        await asyncio.Event().wait()


async def test_a_collector_that_hangs_does_not_keep_a_process_from_ending(
    fates: Fates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "LAST_WORDS", 0.0)
    monkeypatch.setattr(exporter, "DELAY", 0.0)
    collector = Hanging()
    with telemetry_restored():
        async with listening(collector) as endpoint, asyncio.timeout(30):
            stop = telemetry.configure("test", TelemetrySettings(endpoint, queue=5))
            for _ in range(5):
                telemetry.record(span())
            await collector.asked.wait()
            for _ in range(7):
                telemetry.record(span())
            await asyncio.to_thread(stop)
    assert fates()["dropped"] == 2
