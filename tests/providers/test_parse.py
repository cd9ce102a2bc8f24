"""Replies are read as what they are, within limits; whatever cannot be read is a BadReply."""

from __future__ import annotations

import json

import pytest

from services.providers.parse import MAX_DEPTH, read_json, read_text, read_xml
from services.runtime.errors import BadReply
from tests.simulator.faults import LAUGHS


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("Grüße".encode(), "", "Grüße"),
        ("Grüße".encode("latin-1"), "iso-8859-1", "Grüße"),
        (b'<?xml version="1.0" encoding="windows-1252"?>\x80', "", '<?xml version="1.0" encoding="windows-1252"?>€'),
        (b"<meta charset=shift_jis>\x83e", "", "<meta charset=shift_jis>テ"),
        (b"\xef\xbb\xbfmark", "latin-1", "mark"),
        ("mark".encode("utf-16"), "", "mark"),
        (b"bad \xff\xfe byte", "utf-8", "bad \ufffd\ufffd byte"),
        (b"plain", "no-such-charset", "plain"),
        (b"plain", "zip", "plain"),
        (b"", "", ""),
    ],
)
def test_text_is_decoded_by_mark_header_or_its_own_word(body: bytes, charset: str, text: str) -> None:
    assert read_text(body, charset) == text


def test_json_is_read_to_the_depth_allowed() -> None:
    assert read_json(b'{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}
    assert read_json(b'"\xff"') == "\ufffd"
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert json.dumps(read_json(deepest.encode())) == deepest


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[1,]", b"[NaN]", b"[Infinity]", b"[" * 65 + b"]" * 65, b"[" * 100_000, b"1" * 5_000],
)
def test_what_is_not_json_or_too_deep_is_refused(body: bytes) -> None:
    with pytest.raises(BadReply):
        read_json(body)


def test_xml_names_carry_their_namespace() -> None:
    root = read_xml(b'<rss xmlns:dc="urn:dc"><item><dc:creator>A &amp; B</dc:creator></item></rss>')
    assert root.findtext("item/{urn:dc}creator") == "A & B"


@pytest.mark.parametrize(
    "body",
    [
        LAUGHS.encode(),
        b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>',
        b'<!DOCTYPE r SYSTEM "http://127.0.0.2/evil.dtd"><r/>',
        b'<!DOCTYPE r [<!ENTITY % p SYSTEM "http://127.0.0.2/p">%p;]><r/>',
        b"<r>&undefined;</r>",
        b"<r>",
        b"",
        b"<r/><r/>",
        b"<a>" * 100 + b"</a>" * 100,
        b"<r>" + b"<a/>" * 60_000 + b"</r>",
    ],
)
def test_document_types_entities_and_excess_are_refused(body: bytes) -> None:
    with pytest.raises(BadReply):
        read_xml(body)
