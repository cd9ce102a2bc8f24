"""Text from the mesh as data: nothing in it may steer the terminal it is shown on."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

# Escape sequences: operating-system commands and their like up to their end, control sequences, two-byte escapes.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
# Control characters but line feed, and the marks that reverse the direction of what follows.
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """The text without escape sequences and control characters; line breaks stay."""
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\t", "    ")
    return _CONTROLS.sub("", plain)


def one_line(text: str) -> str:
    """The cleaned text on one line."""
    return " ".join(clean(text).split())


def day(time: Timestamp) -> str:
    """The date of a timestamp; empty when it is no date a calendar knows."""
    try:
        return datetime.fromtimestamp(time.seconds, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
