"""One line per event on standard error, with the trace id of its call: JSON, or text for a terminal."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal

from services.runtime import telemetry

Format = Literal["auto", "json", "text"]

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# An event must stay on its line, and must not steer the terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {10: "\\n", 9: "\\t", 13: "\\r"}


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


class JsonFormatter(logging.Formatter):
    """Formats a record, its `extra` fields included."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        trace = telemetry.current()
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": self._process,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if trace:
            line["trace_id"] = trace.trace_id
        line |= _extra(record)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """Formats a record for a person who watches."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line, a traceback below it."""
        trace = telemetry.current()
        at = datetime.fromtimestamp(record.created).strftime("%H:%M:%S.%f")[:-3]
        told = _extra(record) | ({"trace": trace.trace_id} if trace else {})
        words = [f"{at} {record.levelname:<7} {self._process:<9} {record.getMessage()}"]
        line = " ".join([*words, *(f"{key}={value}" for key, value in told.items())]).translate(_CONTROLS)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure(process: str, level: str = "INFO", form: Format = "auto") -> None:
    """Sends every log of the process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    readable = form == "text" or (form == "auto" and sys.stderr.isatty())
    handler.setFormatter(TextFormatter(process) if readable else JsonFormatter(process))
    logging.basicConfig(level=level, handlers=[handler], force=True)
