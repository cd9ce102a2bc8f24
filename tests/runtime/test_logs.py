"""One JSON object per line, with the trace of the call it was written in."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime import logs
from services.runtime.logs import JsonFormatter, TextFormatter
from tests.support import FakeLane, lane_server

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


def formatted(record: logging.LogRecord) -> dict[str, Any]:
    line = JsonFormatter("keyword").format(record)
    assert "\n" not in line
    parsed: dict[str, Any] = json.loads(line)
    return parsed


def record(message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("services.keyword", logging.WARNING, __file__, 1, message, arguments, None)
    vars(made).update(extra)
    return made


def test_a_line_says_when_how_bad_who_and_what() -> None:
    made = record("slow: %d ms\nand more", 250)
    made.created = 0.25
    assert formatted(made) == {
        "time": "1970-01-01T00:00:00.250+00:00",
        "level": "warning",
        "process": "keyword",
        "logger": "services.keyword",
        "message": "slow: 250 ms\nand more",
    }


def test_extra_fields_are_kept_whatever_they_are() -> None:
    line = formatted(record("listening", port=50051, path=sys, word="naïve"))
    assert (line["port"], line["word"]) == (50051, "naïve")
    assert line["path"].startswith("<module 'sys'")


def test_an_exception_is_written_with_its_traceback() -> None:
    made = record("unexpected error")
    try:
        raise ValueError("broken")
    except ValueError:
        made.exc_info = sys.exc_info()
    assert formatted(made)["exception"].endswith("ValueError: broken")


@pytest.fixture
def root_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("root_logger")
def test_every_log_of_the_process_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("keyword", "WARNING")
    logging.getLogger("a.library").warning("first")
    logging.getLogger("a.library").info("too quiet")
    logging.getLogger("services").error("second")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert [json.loads(line)["message"] for line in captured.err.splitlines()] == ["first", "second"]


class Writing(FakeLane):
    """A lane that writes a log line while it is asked."""

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        logging.getLogger("services.keyword").warning("looking")


@pytest.mark.usefixtures("root_logger")
async def test_a_line_written_in_a_call_carries_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("keyword")
    async with lane_server("keyword", Writing()) as address, grpc.aio.insecure_channel(address) as channel:
        await LaneServiceStub(channel).Retrieve(
            RetrieveRequest(query="q", max_results=1),
            metadata=(("traceparent", f"00-{TRACE_ID}-b7ad6b7169203331-00"),),
        )
    logging.getLogger("services.keyword").warning("outside")
    lines = {line["message"]: line for line in map(json.loads, capsys.readouterr().err.splitlines())}
    assert lines["looking"]["trace_id"] == TRACE_ID
    assert "trace_id" not in lines["outside"]


def text(made: logging.LogRecord) -> str:
    return TextFormatter("keyword").format(made)


def test_a_person_reads_one_line_of_words() -> None:
    line = text(record("listening", port=50051))
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} WARNING keyword   listening port=50051", line)


def test_a_line_for_a_person_neither_breaks_nor_steers_the_terminal() -> None:
    assert text(record("a\nb\x1b[31m\x9b", word="c\rd")).endswith(r"a\nb\x1b[31m\x9b word=c\rd")


def test_an_exception_stands_below_its_line() -> None:
    made = record("unexpected error")
    try:
        raise ValueError("broken")
    except ValueError:
        made.exc_info = sys.exc_info()
    first, *below = text(made).splitlines()
    assert first.endswith("unexpected error")
    assert below[-1] == "ValueError: broken"


@pytest.mark.usefixtures("root_logger")
@pytest.mark.parametrize(
    ("form", "terminal", "readable"),
    [("auto", False, False), ("auto", True, True), ("json", True, False), ("text", False, True)],
)
def test_the_form_follows_the_setting_and_the_terminal(
    form: logs.Format, terminal: bool, readable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.StringIO()
    monkeypatch.setattr(written, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", written)
    logs.configure("keyword", form=form)
    logging.getLogger("services").warning("first")
    assert written.getvalue().startswith("{") is not readable
