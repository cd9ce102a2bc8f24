"""Where the command writes: pages for people, one JSON object for programs, errors on one line."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from google.protobuf.message import Message
from rich.console import Console

from client import tracing
from client.text import one_line
from services.runtime.errors import (
    STATUS,
    BadReply,
    DeadlinePassed,
    InvalidRequest,
    LanemeshError,
    Overloaded,
    PermissionDenied,
    Refused,
    Unavailable,
)
from services.runtime.jsonform import to_json, to_line

PIPED_WIDTH = 100
# What a person cannot explain from the message alone.
_TRACED = (LanemeshError, DeadlinePassed, Overloaded, BadReply, Refused)
EXIT_CODES: Mapping[type[LanemeshError], int] = {InvalidRequest: 2, Unavailable: 3, DeadlinePassed: 4}


def new_console() -> Console:
    """The console for people: the terminal's width and colours, or plain text of a fixed width in a pipe."""
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    return Console(file=sys.stdout, width=width, markup=False, highlight=False, emoji=False)


def print_json(value: Message | Mapping[str, object]) -> None:
    """One JSON object on a line of its own."""
    print(to_line(to_json(value) if isinstance(value, Message) else value), flush=True)


def note(message: str) -> None:
    """One line on stderr."""
    print(one_line(message), file=sys.stderr, flush=True)


def fail(error: LanemeshError, as_json: bool) -> int:
    """Tells the error on stderr and returns the exit code it has."""
    if as_json:
        print(to_line({"error": _parts(error)}), file=sys.stderr, flush=True)
    else:
        trace = f" (trace {tracing.where(error.trace_id)})" if error.trace_id and type(error) in _TRACED else ""
        note(f"lanemesh: {error.message}{trace}")
    return EXIT_CODES.get(type(error), 1)


def _parts(error: LanemeshError) -> dict[str, str]:
    field, message = "", error.message
    if isinstance(error, InvalidRequest | PermissionDenied):
        field, message = error.field, error.description
    parts = {"code": STATUS[type(error)].name, "reason": error.reason, "field": field, "message": message}
    return parts | ({"trace_id": error.trace_id} if error.trace_id else {})
