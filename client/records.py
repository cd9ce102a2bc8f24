"""What a file turns into: records of the contract, filled by their descriptors, each knowing where it came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from lanemesh.v1.search_pb2 import IngestRequest

from services.runtime.errors import InvalidRequest

Filled = TypeVar("Filled", bound=Message)


@dataclass(frozen=True, slots=True)
class Origin:
    """A file, and a line of it where records are lines."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def plain(self) -> dict[str, Any]:
        """The place as JSON."""
        return {"file": self.file, "line": self.line}


@dataclass(frozen=True, slots=True)
class Record:
    """A record to send, and the bytes of the file it took."""

    origin: Origin
    request: IngestRequest
    size: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A file or line that could not be read as a record."""

    origin: Origin
    field: str
    message: str
    size: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out on purpose."""

    origin: Origin
    reason: str
    size: int


Item = Record | Problem | Skipped


def fill(message: Filled, values: Mapping[str, Any]) -> Filled:
    """Sets the message's fields; InvalidRequest names a key that is unknown or of the wrong type."""
    for key, value in values.items():
        field = message.DESCRIPTOR.fields_by_name.get(key)
        if field is None:
            raise InvalidRequest(key, "unknown key")
        if value is None:
            continue
        try:
            _set(message, field, value)
        except UnicodeEncodeError:
            raise InvalidRequest(key, "is not valid Unicode") from None
    return message


def _set(message: Message, field: Any, value: Any) -> None:
    name = field.name
    kind = field.message_type.full_name if field.message_type else ""
    if kind == "google.protobuf.Timestamp":
        getattr(message, name).FromDatetime(instant(name, value))
    elif kind == "google.protobuf.Struct":
        getattr(message, name).update(_expect(name, value, dict, "an object"))
    elif kind:
        getattr(message, name).update(_texts(_expect(name, value, dict, "an object")))
    elif field.is_repeated:
        items = _expect(name, value, list, "a list of strings")
        getattr(message, name).extend(_expect(name, item, str, "a list of strings") for item in items)
    elif field.type == FieldDescriptor.TYPE_DOUBLE:
        setattr(message, name, float(_expect(name, value, (int, float), "a number")))
    else:
        setattr(message, name, _expect(name, value, str, "a string"))


def _expect(name: str, value: Any, kind: type | tuple[type, ...], said: str) -> Any:
    # A boolean is a number to Python, not to the reader of the file.
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidRequest(name, f"expected {said}")
    return value


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Attribute values as text; empty ones say nothing and are left out."""
    plain = {key: value for key, value in values.items() if value not in (None, "", [], {})}
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in plain.items()}


def instant(name: str, value: Any) -> datetime:
    """A date or a time in ISO 8601; without a zone it is UTC."""
    text = _expect(name, value, str, "a date such as 2026-05-12")
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(name, f"{text!r} is no date; expected one such as 2026-05-12") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time
