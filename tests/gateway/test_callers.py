"""The file of callers: what it opens, and what is wrong with it, by the name of the entry."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from gateway.callers import read_callers
from gateway.identity import Caller, Callers
from gateway.rate import Rate
from services.runtime.errors import StartupError, Unauthenticated

LANES = ("vector", "keyword", "kg")
TOKEN = "a token nobody would guess"
DIGEST = sha256(TOKEN.encode()).hexdigest()
WHOLE = f"""
callers:
  billing:
    token_sha256: {DIGEST}
    names: [billing.example.org, "spiffe://example.org/billing"]
    labels: [finance]
    lanes: [vector, kg]
    rate: {{per_second: 2.5, burst: 5}}
    ingest: true
  robot:
    names: [robot.example.org]
    delete: true
anybody:
  lanes: [keyword]
"""
BILLING = Caller("billing", ("finance",), frozenset({"vector", "kg"}), Rate(2.5, 5.0), ingest=True, delete=False)


def read(folder: Path, text: str) -> Callers:
    path = folder / "callers.yaml"
    path.write_text(text, encoding="utf-8")
    return read_callers(path, LANES)


def test_a_file_with_everything(tmp_path: Path) -> None:
    callers = read(tmp_path, WHOLE)
    assert callers.identify([("authorization", f"Bearer {TOKEN}")]) == BILLING
    assert callers.identify([], ["other.example.org", "spiffe://example.org/billing"]) == BILLING
    robot = callers.identify([], ["robot.example.org"])
    assert robot == Caller("robot", ingest=False, delete=True)
    assert robot.may_use("vector")
    assert callers.identify([], ["stranger.example.org"]) == Caller(
        lanes=frozenset({"keyword"}), ingest=False, delete=False
    )


def test_a_token_says_more_than_a_certificate(tmp_path: Path) -> None:
    callers = read(tmp_path, WHOLE)
    assert callers.identify([("authorization", f"Bearer {TOKEN}")], ["robot.example.org"]).name == "billing"
    with pytest.raises(Unauthenticated):
        callers.identify([("authorization", "Bearer wrong")], ["robot.example.org"])


def test_without_a_row_for_anybody_nobody_unknown_is_served(tmp_path: Path) -> None:
    callers = read(tmp_path, WHOLE.split("anybody:")[0])
    for names in ([], ["stranger.example.org"], ["BILLING.example.org"], ["billing.example.org.evil.org"]):
        with pytest.raises(Unauthenticated, match="needs the token or the certificate of a known caller"):
            callers.identify([], names)


def test_without_a_file_anybody_may_do_everything() -> None:
    anybody = read_callers(None, LANES).identify(None)
    assert (anybody.name, anybody.ingest, anybody.delete, anybody.lanes) == ("", True, True, None)


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("names: billing", "callers.a.names must be a list"),
        ("names: ['']", "callers.a.names must be a list"),
        ("names: []", "callers.a needs token_sha256 or names"),
        (f"names: [{', '.join(f'n{number}' for number in range(65))}]", "callers.a.names has more than 64"),
        (
            "{names: [a], lanes: [astrology]}",
            "callers.a.lanes: astrology is no lane; the table has vector, keyword, kg",
        ),
        ("{names: [a], lanes: vector}", "callers.a.lanes must be a list"),
        ("{names: [a], ingest: 1}", "callers.a.ingest must be true or false"),
        ("{names: [a], delete: 'yes'}", "callers.a.delete must be true or false"),
        ("{names: [a], rate: 5}", "callers.a.rate must be a mapping of per_second and burst"),
        ("{names: [a], rate: {per_second: 5}}", "callers.a.rate must be a mapping of per_second and burst"),
        ("{names: [a], rate: {per_second: 0, burst: 1}}", "callers.a.rate.per_second must be a number above 0"),
        ("{names: [a], rate: {per_second: .nan, burst: 1}}", "callers.a.rate.per_second must be a number above 0"),
        ("{names: [a], rate: {per_second: 1, burst: 0.5}}", "callers.a.rate.burst must be a number of at least 1"),
        ("{names: [a], rate: {per_second: 1, burst: true}}", "callers.a.rate.burst must be a number of at least 1"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, row: str, named: str) -> None:
    text = f"callers:\n  a:\n    {row}\n"
    with pytest.raises(StartupError, match=f"^LANEMESH_CALLERS=.*: {named}"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{callers: {}, nobody: {}}", "nobody is unknown"),
        ("{callers: {'': {names: [x]}}}", "callers has an entry without a name"),
        (f"{{callers: {{}}, anybody: {{token_sha256: {DIGEST}}}}}", "anybody must be a mapping of"),
        ("{callers: {a: {names: [x]}, b: {names: [x]}}}", "callers.b.names: x is also that of a"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(StartupError, match=named) as caught:
        read(tmp_path, text)
    assert DIGEST not in str(caught.value)
