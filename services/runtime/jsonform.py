"""Messages of the contract as JSON: field names as in the .proto, enum values without their prefix."""

from __future__ import annotations

import json
import re
from typing import Any

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message


def short_name(enum: EnumDescriptor, value: str) -> str:
    """The name of an enum value without the prefix its type gives it: LANE_STATUS_TIMEOUT is TIMEOUT."""
    prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enum.name).upper() + "_"
    return value.removeprefix(prefix)


def name_of(enum: EnumDescriptor, number: int) -> str:
    """The short name of an enum number; the number itself when the contract does not know it."""
    value = enum.values_by_number.get(number)
    return short_name(enum, value.name) if value else str(number)


def to_json(message: Message) -> dict[str, Any]:
    """The message as plain data. Fields without presence are always there."""
    plain = MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    return _shorten(plain, message.DESCRIPTOR)


def to_line(value: object) -> str:
    """Plain data as one line of JSON. Kept to ASCII so that no terminal or encoding can misread it."""
    return json.dumps(value, separators=(", ", ": "))


def _shorten(plain: dict[str, Any], descriptor: Any) -> dict[str, Any]:
    # Well-known types have a JSON form of their own.
    if descriptor.file.package == "google.protobuf":
        return plain
    fields = descriptor.fields_by_name
    return {key: _value(value, fields[key]) for key, value in plain.items()}


def _value(value: Any, field: FieldDescriptor) -> Any:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        inner = field.message_type.fields_by_name["value"]
        return {key: _one(each, inner) for key, each in value.items()}
    if isinstance(value, list):
        return [_one(each, field) for each in value]
    return _one(value, field)


def _one(value: Any, field: FieldDescriptor) -> Any:
    if field.enum_type is not None and isinstance(value, str):
        return short_name(field.enum_type, value)
    if field.message_type is not None and isinstance(value, dict):
        return _shorten(value, field.message_type)
    return value
