"""Personal data: each kind where it stands, and the numbers that only look like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.preflight.personal.checks import luhn, mod97, verhoeff
from services.preflight.personal.find import find, redact

FOUND = [
    ("Mail jane.doe+x@mail.example.co.uk about it", "email", "jane.doe+x@mail.example.co.uk"),
    ("<bob@example.com>", "email", "bob@example.com"),
    ("why did o'neil@example.org bounce?", "email", "o'neil@example.org"),
    ("Пишите на иван@пример.рф", "email", "иван@пример.рф"),
    ("call me at +1 (415) 555-0132 please", "phone", "+1 (415) 555-0132"),
    ("my number +49 30 901820", "phone", "+49 30 901820"),
    ("+442079460958", "phone", "+442079460958"),
    ("(415) 555-0132", "phone", "(415) 555-0132"),
    ("415-555-0132", "phone", "415-555-0132"),
    ("who owns 415.555.0132?", "phone", "415.555.0132"),
    ("Mein Telefon: 030 9018 2000", "phone", "030 9018 2000"),
    ("020 7946 0958", "phone", "020 7946 0958"),
    ("06 12 34 56 78", "phone", "06 12 34 56 78"),
    ("phone 5550132", "phone", "5550132"),
    ("text me: 07700900123", "phone", "07700900123"),
    ("card 4111 1111 1111 1111 was declined", "credit_card", "4111 1111 1111 1111"),
    ("4111-1111-1111-1111", "credit_card", "4111-1111-1111-1111"),
    ("5555555555554444", "credit_card", "5555555555554444"),
    ("378282246310005", "credit_card", "378282246310005"),
    ("3782 822463 10005", "credit_card", "3782 822463 10005"),
    ("6011111111111117", "credit_card", "6011111111111117"),
    ("transfer to DE89 3704 0044 0532 0130 00 today", "iban", "DE89 3704 0044 0532 0130 00"),
    ("GB82WEST12345698765432", "iban", "GB82WEST12345698765432"),
    ("fr14 2004 1010 0505 0001 3m02 606", "iban", "fr14 2004 1010 0505 0001 3m02 606"),
    ("NO9386011117947", "iban", "NO9386011117947"),
    ("SSN 536-22-8726", "national_id", "536-22-8726"),
    ("my social security number is 536228726", "national_id", "536228726"),
    ("NI number AB 12 34 56 C", "national_id", "AB 12 34 56 C"),
    ("national insurance AB123456C", "national_id", "AB123456C"),
    ("SIN 130-692-544", "national_id", "130-692-544"),
    ("my social insurance number is 046454286", "national_id", "046454286"),
    ("DNI 12345678Z", "national_id", "12345678Z"),
    ("NIE X1234567L", "national_id", "X1234567L"),
    ("2 55 08 14 168 025 38", "national_id", "2 55 08 14 168 025 38"),
    ("RSSMRA85T10A562S", "national_id", "RSSMRA85T10A562S"),
    ("CPF 529.982.247-25", "national_id", "529.982.247-25"),
    ("aadhaar 2341 2341 2346", "national_id", "2341 2341 2346"),
    ("PAN ABCPE1234F", "national_id", "ABCPE1234F"),
    ("811228-9874", "national_id", "811228-9874"),
    ("PESEL 44051401359", "national_id", "44051401359"),
    ("BSN 111222333", "national_id", "111222333"),
    ("who is 203.0.113.7?", "ip_address", "203.0.113.7"),
    ("login from 192.168.1.10.", "ip_address", "192.168.1.10"),
    ("2001:db8:85a3::8a2e:370:7334 keeps failing", "ip_address", "2001:db8:85a3::8a2e:370:7334"),
    ("fe80::1ff:fe23:4567:890a%eth2", "ip_address", "fe80::1ff:fe23:4567:890a%eth2"),
    ("why is sk-proj-abcdefghijklmnop1234567890 refused", "api_key", "sk-proj-abcdefghijklmnop1234567890"),
    ("AKIAIOSFODNN7EXAMPLE", "api_key", "AKIAIOSFODNN7EXAMPLE"),
    ("ghp_" + "a1" * 18, "api_key", "ghp_" + "a1" * 18),
    ("xoxb-123456789012-abcdef", "api_key", "xoxb-123456789012-abcdef"),
    ("AIza" + "Sy0" * 11 + "ab", "api_key", "AIza" + "Sy0" * 11 + "ab"),
    ("Authorization: Bearer a1b2c3d4e5f6g7", "api_key", "a1b2c3d4e5f6g7"),
    ("api_key=9f8e7d6c5b4a39281706 fails", "api_key", "9f8e7d6c5b4a39281706"),
    (
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
        "api_key",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
    ),
    ("password: hunter2!xyz", "password", "hunter2!xyz"),
    ("my password is Tr0ub4dor&3.", "password", "Tr0ub4dor&3"),
]
CLEAR = [
    "order 4155550132 is late",
    "order number 415-555-0132",
    "Where is order 4111111111111111?",
    "4111111111111112",
    "1234 5678 9012 3456",
    "0000 0000 0000 0000",
    "tracking 9400 1000 0000 0000 0000 00",
    "What changed in version 1.2.3.4?",
    "upgrade to 10.15.7.1 fails",
    "v2.14.0",
    "between 2019-03-01 and 2020-12-31",
    "on 01/15/2024 at 10:30:45",
    "15.01.2024",
    "revenue 1990-2000, 2001-2010",
    "1 000 000 000 people",
    "population 331,002,651",
    "3.14159265358979",
    "ISBN 978-3-16-148410-0",
    "DOI 10.1038/s41586-020-2649-2",
    "commit 3b0cbc6f1ccbcf37cd463caaffdd59270981616f",
    "d41d8cd98f00b204e9800998ecf8427e",
    "550e8400-e29b-41d4-a716-446655440000",
    "127.0.0.1 refuses connections",
    "bind to 0.0.0.0 or ::1",
    "netmask 255.255.255.0",
    "the 10.0.0.0/8 network",
    "is 8.8.8.8 down?",
    "std::vector::size",
    "at 12:34:56",
    "git clone git@github.com:org/repo.git",
    "npm install left-pad@1.3.0",
    "@media queries in CSS",
    "HTTP 404 vs 500",
    "error 0x80070005",
    "chr1:1000-2000",
    "000-12-3456",
    "900-12-3456",
    "DE89 3704 0044 0532 0130 01",
    "GB29 is a region code",
    "12345678A",
    "How do I reset my password?",
    "password: minimum length",
    "token bucket algorithm",
    "bearer authentication in gRPC",
    "secret rotation every 90 days",
    "api key rotation",
    "pin python3.11 in CI",
    "sk-learn tutorial",
    "call 3 services in parallel",
    "call the API 1000 times",
    "RFC 9110 section 15.5.1.2",
    "MTHFR C677T and A1298C",
    "PMID 12345678",
    "the years 2015 2016 2017",
    "(2019) 12 345-678",
    "100-200-3000 mg doses",
    "ratio 16:9:4",
    "NCT01234567",
    "the antagonist SR141716A",
    "EC 3.4.21.5",
]


@pytest.mark.parametrize(("text", "kind", "written"), FOUND)
def test_found_where_it_stands(text: str, kind: str, written: str) -> None:
    assert [(item.kind, text[item.start : item.end]) for item in find(text)] == [(kind, written)]
    assert redact(text, find(text)) == text.replace(written, f"[{kind}]")


@pytest.mark.parametrize("text", CLEAR)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert find(text) == []


def test_several_kinds_in_order() -> None:
    text = "Ann (ann@example.com, +1 415 555 0132) paid with 4111 1111 1111 1111 from 203.0.113.9"
    assert redact(text, find(text)) == "Ann ([email], [phone]) paid with [credit_card] from [ip_address]"


PIECES = st.sampled_from([written for _, _, written in FOUND]) | st.text(max_size=8) | st.sampled_from(CLEAR)
TEXTS = (
    st.lists(PIECES, max_size=8).map(" ".join)
    | st.text(max_size=200)
    | st.text("0123456789 -.+()@:abcdef", max_size=60)
)


@given(TEXTS)
def test_spans_are_in_order_and_redaction_removes_every_item(text: str) -> None:
    items = find(text)
    past = 0
    for item in items:
        assert past <= item.start < item.end <= len(text)
        past = item.end
    redacted = redact(text, items)
    assert not any(text[item.start : item.end] in redacted for item in items)


@pytest.mark.parametrize(
    "text",
    [
        "a@" * 5_000,
        "1" * 10_000,
        "1 " * 5_000,
        "+1 (" * 2_500,
        "a" * 10_000,
        ":" * 10_000,
        "1." * 5_000,
        "eyJ" * 3_333,
        "-----BEGIN PRIVATE KEY-----" * 370,
        "415-555-0132 " * 760,
        "GB29 " * 2_000,
        "password is " * 800,
    ],
)
def test_the_longest_queries_are_read(text: str) -> None:
    find(text)


def test_check_digits_notice_a_changed_digit() -> None:
    for check, number in ((luhn, "4111111111111111"), (verhoeff, "234123412346"), (mod97, "GB82WEST12345698765432")):
        assert check(number)
        place = number.rindex("1")
        assert not check(number[:place] + "2" + number[place + 1 :])
