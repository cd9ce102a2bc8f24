"""Bytes of a reply as text, JSON or XML, each with its limits; whatever cannot be read is a BadReply."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from services.runtime.errors import BadReply

MAX_DEPTH = 64
MAX_ELEMENTS = 50_000
# How far into a page its own word on its encoding is looked for.
_HEAD = 1_024
_DECLARED = re.compile(rb"""(?:encoding|charset)\s*=\s*["']?\s*([A-Za-z0-9._:-]+)""", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def read_text(body: bytes, charset: str = "") -> str:
    """The text, decoded as its mark, the header or the document itself says; what does not decode is replaced."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    declared = _DECLARED.search(body, 0, _HEAD) if not charset else None
    return body.decode(_known(charset or (declared[1].decode("ascii") if declared else "")), "replace")


def _known(charset: str) -> str:
    """A text encoding of that name; UTF-8 when there is none."""
    try:
        codec = codecs.lookup(charset)
    except LookupError:
        return "utf-8"
    # The registry also holds codecs that are no encodings of text, zip among them.
    return codec.name if codec._is_text_encoding else "utf-8"


def read_json(body: bytes) -> Any:
    """The value, at most MAX_DEPTH deep."""
    try:
        value = json.loads(read_text(body, "utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadReply("the reply is not JSON") from None
    _check_depth(value)
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [part for parent in level if isinstance(parent, dict | list) for part in _parts(parent)]
        if not level:
            return
    raise BadReply(f"the reply is nested deeper than {MAX_DEPTH} levels")


def _parts(parent: dict[str, Any] | list[Any]) -> Any:
    return parent.values() if isinstance(parent, dict) else parent


def read_xml(body: bytes) -> Element:
    """The root element, names as {namespace}local. A document type is refused, and entities with it."""
    reader = _XmlReader()
    try:
        reader.parser.Parse(body, True)
    except expat.ExpatError:
        raise BadReply("the reply is not XML") from None
    return reader.tree.close()


class _XmlReader:
    def __init__(self) -> None:
        self.tree = TreeBuilder()
        self.parser = expat.ParserCreate(namespace_separator="}")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.tree.data
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse
        self.parser.ExternalEntityRefHandler = self._refuse
        self._depth = 0
        self._elements = 0

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > MAX_DEPTH or self._elements > MAX_ELEMENTS:
            raise BadReply("the reply has too many elements or levels")
        self.tree.start(_qualified(name), {_qualified(key): value for key, value in attributes.items()})

    def _end(self, name: str) -> None:
        self._depth -= 1
        self.tree.end(_qualified(name))

    def _refuse(self, *_: object) -> NoReturn:
        raise BadReply("the reply declares a document type or entities")


def _qualified(name: str) -> str:
    return "{" + name if "}" in name else name
