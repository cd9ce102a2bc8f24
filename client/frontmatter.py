"""The front matter of a Markdown or text file: `key: value` lines between two `---`, lists in brackets or by dashes."""

from __future__ import annotations

import re
from typing import Any

from services.runtime.errors import InvalidRequest

FENCE = "---"
LISTS = {"tags", "access_labels"}
FIELDS = {
    "id", "title", "summary", "url", "source", "project", "author", "published_at", "language", "licence", *LISTS,
}  # fmt: skip
_KEY = re.compile(r"([A-Za-z_][\w-]*):(?:\s+(.*))?")


def split(text: str) -> tuple[dict[str, Any], str]:
    """The metadata of a file and the text below it, untouched. Keys of no field become attributes."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != FENCE:
        return {}, text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        # A rule at the top is Markdown; metadata without an end would lose its access labels.
        if len(lines) > 1 and _KEY.fullmatch(lines[1].rstrip()):
            raise InvalidRequest("front matter", f"has no closing {FENCE}")
        return {}, text
    return _sorted(_parse([line.rstrip() for line in lines[1:end]])), "".join(lines[end + 1 :])


def _parse(lines: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    key = ""
    for line in lines:
        match = _KEY.fullmatch(line)
        if match:
            key, raw = match[1], (match[2] or "").strip()
            values[key] = _value(raw) if raw else []
        elif line.strip().startswith("- ") and isinstance(values.get(key), list):
            values[key].append(_unquoted(line.strip()[2:]))
        elif key in FIELDS and line.strip() and not line.lstrip().startswith("#"):
            raise InvalidRequest(key, f"cannot read {line.strip()!r}")
    return values


def _sorted(values: dict[str, Any]) -> dict[str, Any]:
    """Fields of a document by name, anything else under attributes."""
    fields: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for key, value in values.items():
        if key in FIELDS:
            fields[key] = _shaped(key, value)
        elif "access" in key or "label" in key:
            # A misspelt label must not make a restricted document public.
            raise InvalidRequest(key, "unknown key; did you mean access_labels?")
        else:
            attributes[key] = ", ".join(value) if isinstance(value, list) else value
    return fields | ({"attributes": attributes} if attributes else {})


def _shaped(key: str, value: Any) -> Any:
    if key in LISTS:
        return value if isinstance(value, list) else [value]
    if isinstance(value, list):
        if value:
            raise InvalidRequest(key, "expected one value, not a list")
        return None
    return value


def _value(raw: str) -> Any:
    if raw.startswith("[") and raw.endswith("]"):
        return [_unquoted(part) for part in raw[1:-1].split(",") if part.strip()]
    return _unquoted(raw)


def _unquoted(raw: str) -> str:
    text = raw.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
