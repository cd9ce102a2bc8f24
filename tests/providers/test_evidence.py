"""Evidence from what providers send: cleaned, cut, dated, identified; and when it fits its question."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from lanemesh.v1.evidence_pb2 import Evidence

from services.providers import dates
from services.providers.evidence import FAIR_USE, cut, page, plain
from services.providers.fit import fits
from services.providers.merge import merge
from services.providers.provider import Base, Profile, Question
from services.providers.query import primary_language, region, shortened

PROFILE = Profile("test", (Base("X", "https://x.example"),))
QUESTION = Question("q", 10)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


def test_markup_is_dropped_and_characters_that_harm_as_well() -> None:
    found = page(
        "https://www.Example.org/a?utm_source=x#top",
        "A &amp; <b>B</b>",
        "<p>One</p><script>alert(1)</script><p>two\x00\x1b[31m\ud800</p>",
        author="<i>Me</i>",
    ).document
    assert found.id == "example.org/a"
    assert (found.title, found.author) == ("A & B", "Me")
    assert found.content == "One\n\ntwo[31m"
    assert Evidence.FromString(Evidence(document=found).SerializeToString()).document == found


def test_comparisons_are_no_markup() -> None:
    assert plain("if a < b and c > d") == "if a < b and c > d"


@pytest.mark.parametrize(
    "url", ["", None, 7, "ftp://x.org/", "javascript:alert(1)", "x.org/a", "https://" + "x" * 3000]
)
def test_what_is_no_web_page_has_no_identity(url: object) -> None:
    assert not fits(page(url, "t", "c").document, QUESTION, PROFILE)


def test_what_is_no_text_is_left_out() -> None:
    found = page("https://x.org/", None, {"a": 1}, author=5, language=[]).document
    assert (found.title, found.content, found.author, found.language) == ("", "", "", "")


def test_long_texts_are_cut_at_a_word() -> None:
    assert cut("one two three", 100) == "one two three"
    text = page("https://x.org/", "t", "word " * 1_000, excerpt=FAIR_USE).document.content
    assert len(text) <= FAIR_USE
    assert text.endswith("word…")
    assert len(cut("x" * 500, 100)) == 100


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (dates.iso("2026-05-01"), "2026-05-01T00:00:00+00:00"),
        (dates.iso("2026-05-01T02:00:00+02:00"), "2026-05-01T00:00:00+00:00"),
        (dates.iso("20260501T000000Z"), "2026-05-01T00:00:00+00:00"),
        (dates.mail("Fri, 01 May 2026 01:00:00 +0100"), "2026-05-01T00:00:00+00:00"),
        (dates.epoch(1777593600), "2026-05-01T00:00:00+00:00"),
    ],
)
def test_dates_are_utc(moment: datetime, expected: str) -> None:
    assert moment.isoformat() == expected


@pytest.mark.parametrize(
    "moment",
    [
        dates.iso("yesterday"),
        dates.iso(None),
        dates.iso("0001-01-01"),
        dates.iso("9999-12-31T23:59:59-14:00"),
        dates.mail(""),
        dates.mail(5),
        dates.mail("32 Foo"),
        dates.epoch("1"),
        dates.epoch(True),
        dates.epoch(1e30),
        dates.epoch(float("nan")),
    ],
)
def test_dates_that_cannot_be_are_unknown(moment: datetime | None) -> None:
    assert moment is None


def test_results_keep_the_bounds_of_time() -> None:
    dated = page("https://x.org/", "t", "c", published_at=MAY).document
    undated = page("https://x.org/", "t", "c").document
    since, until = replace(QUESTION, published_after=MAY), replace(QUESTION, published_before=MAY)
    assert fits(dated, since, PROFILE)
    assert not fits(dated, until, PROFILE)
    assert fits(undated, QUESTION, PROFILE)
    assert not fits(undated, since, PROFILE)
    assert fits(undated, since, replace(PROFILE, keeps_dates=True))


def test_results_keep_sites_and_language() -> None:
    found = page("https://en.x.org/", "t", "c", language="en-GB").document
    assert fits(found, replace(QUESTION, sites=("x.org",), language="en"), PROFILE)
    assert not fits(found, replace(QUESTION, sites=("y.org",)), PROFILE)
    assert not fits(found, replace(QUESTION, language="de"), PROFILE)


def test_what_one_provider_lacks_the_other_adds() -> None:
    bare = page("https://x.org/1", "", "text")
    full = page("http://www.x.org/1/", "Title", "other", author="A", published_at=MAY, language="en")
    for evidence, name, adjustment in ((bare, "a", -0.5), (full, "b", 0.1)):
        evidence.providers.append(name)
        evidence.provider_adjustment = adjustment
    (merged,) = merge([[bare], [full]])
    assert (merged.document.title, merged.document.content, merged.document.author) == ("Title", "text", "A")
    assert merged.document.published_at.seconds == MAY.timestamp()
    assert list(merged.providers) == ["a", "b"]
    assert merged.score == pytest.approx(0.5 / 61 + 1.1 / 61)
    assert bare.score == 0


def test_results_that_share_a_key_are_the_same() -> None:
    one, two = page("https://x.org/1", "Same", "c"), page("https://y.org/2", "Same", "c")
    assert len(merge([[one], [two]])) == 2
    assert len(merge([[one], [two]], lambda each: (each.document.id, each.document.title))) == 1


def test_queries_are_shortened_to_whole_words() -> None:
    assert shortened(" one\n two  three ", 100) == "one two three"
    assert shortened("one two three", 9) == "one two"
    assert shortened("one two three", 100, words=1) == "one"
    assert shortened("x" * 50, 10) == "x" * 10


def test_language_tags_are_taken_apart() -> None:
    assert (primary_language("zh-Hant-TW"), region("zh-Hant-TW")) == ("zh", "TW")
    assert (primary_language("DE"), region("de")) == ("de", "")
