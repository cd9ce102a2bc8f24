"""W3C trace context as it travels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runtime.trace import NAME_ONLY, Trace, fresh, incoming, parse
from tests.otlp import SAMPLED, SPAN_ID, TRACE_ID, UNSAMPLED


def test_a_header_is_read_and_written() -> None:
    assert parse(SAMPLED) == Trace(TRACE_ID, SPAN_ID, True)
    assert parse(UNSAMPLED) == Trace(TRACE_ID, SPAN_ID, False)
    for header in (SAMPLED, UNSAMPLED):
        trace = parse(header)
        assert trace
        assert trace.header() == header


def test_other_flags_and_later_versions_are_read_as_far_as_they_are_known() -> None:
    assert parse(f"00-{TRACE_ID}-{SPAN_ID}-03") == Trace(TRACE_ID, SPAN_ID, True)
    assert parse(f"01-{TRACE_ID}-{SPAN_ID}-01-more") == Trace(TRACE_ID, SPAN_ID, True)


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
    assert parse(header) is None


@given(st.text(max_size=80) | st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?", fullmatch=True))
def test_any_text_is_a_header_that_can_be_passed_on_or_none(header: str) -> None:
    trace = parse(header)
    assert trace is None or parse(trace.header()) == trace


@pytest.mark.parametrize("sampled", [True, False])
def test_a_new_trace_is_a_valid_one_and_never_the_same(sampled: bool) -> None:
    traces = [fresh(sampled) for _ in range(50)]
    assert all(parse(trace.header()) == trace and trace.sampled is sampled for trace in traces)
    assert len({trace.trace_id for trace in traces}) == 50


def test_a_caller_may_give_no_more_than_a_name() -> None:
    trace = Trace(TRACE_ID, SPAN_ID, False)
    headers = (("user-agent", "x"), ("traceparent", UNSAMPLED))
    assert incoming(headers) == (trace, False)
    assert incoming((*headers, ("tracestate", NAME_ONLY))) == (trace, True)
    assert incoming((*headers, ("tracestate", "other=1"))) == (trace, False)


@pytest.mark.parametrize("headers", [None, (), (("traceparent", b"bytes"),), (("tracestate", NAME_ONLY),)])
def test_without_a_readable_header_there_is_no_trace(headers: tuple[tuple[str, str | bytes], ...] | None) -> None:
    assert incoming(headers) == (None, False)
