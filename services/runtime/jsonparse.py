"""JSON into messages of the contract: field names as in the .proto, enum values with or without their prefix.

What does not fit is refused by the path of its field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message

from services.runtime.errors import InvalidRequest
from services.runtime.jsonform import short_name

BODY = "body"
_KINDS = {
    FieldDescriptor.CPPTYPE_STRING: "a string",
    FieldDescriptor.CPPTYPE_BOOL: "true or false",
    FieldDescriptor.CPPTYPE_INT32: "a whole number of 32 bits",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_MESSAGE: "a time such as 2026-03-01T00:00:00Z",
}


def from_json(raw: bytes, message: Message) -> None:
    """Fills the message; InvalidRequest names the field that cannot be read."""
    try:
        plain = json.loads(raw)
    except (ValueError, RecursionError):
        # Also what is no UTF-8, and numbers too long to be read.
        raise InvalidRequest(BODY, "is not JSON") from None
    _fill(message, plain, "")


def _fill(message: Message, plain: Any, path: str) -> None:
    if not isinstance(plain, dict):
        raise InvalidRequest(path or BODY, "must be an object")
    fields: Mapping[str, Any] = message.DESCRIPTOR.fields_by_name
    for key, value in plain.items():
        place = f"{path}.{key[:64]}" if path else key[:64]
        if key not in fields:
            raise InvalidRequest(place, "unknown field")
        if value is not None:
            _set(message, fields[key], value, place)


def _set(message: Message, field: FieldDescriptor, value: Any, path: str) -> None:
    if field.is_repeated and not isinstance(value, list):
        raise InvalidRequest(path, "must be a list")
    kind = field.message_type
    if kind is not None and kind.file.package != "google.protobuf":
        inside = getattr(message, field.name)
        if field.is_repeated:
            for number, each in enumerate(value):
                _fill(inside.add(), each, f"{path}[{number}]")
        else:
            inside.SetInParent()
            _fill(inside, value, path)
        return
    try:
        ParseDict({field.name: _named(field.enum_type, value) if field.enum_type else value}, message)
    except ParseError:
        raise InvalidRequest(path, _expected(field)) from None


def _named(enum: EnumDescriptor, value: Any) -> Any:
    """The full name of an enum value that was given by its short one."""
    if not isinstance(value, str):
        return value
    wanted = value.upper()
    return next((name for name in enum.values_by_name if wanted in (name, short_name(enum, name))), value)


def _expected(field: FieldDescriptor) -> str:
    if field.enum_type is not None:
        names = [short_name(field.enum_type, name).lower() for name in field.enum_type.values_by_name]
        return f"must be one of {', '.join(name for name in names if name != 'unspecified')}"
    each = "a list, each entry " if field.is_repeated else ""
    return f"must be {each}{_KINDS[field.cpp_type]}"
