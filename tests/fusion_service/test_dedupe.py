"""Near-duplicates: which pages are one, and which only look alike."""

from __future__ import annotations

import pytest

from fusion_service.fuse import fuse
from services.runtime.registry import Table
from tests.fusion_service.samples import evidence, findings, request

TITLE = "How the payment gateway retries a failed charge"
SITE = "https://docs.example.com"


def ids(table: Table, one: tuple[str, str], other: tuple[str, str]) -> list[str]:
    pages = [
        evidence(name, f"text of {name}", title=title, url=url)
        for name, (title, url) in zip("ab", (one, other), strict=True)
    ]
    return [result.document.id for result in fuse(request(findings("web", *pages)), table).results]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((TITLE, f"{SITE}/a"), (TITLE, f"{SITE}/b")),
        ((TITLE, f"{SITE}/a"), (TITLE.upper() + "?", "https://www.example.com/zzz")),
        ((TITLE, f"{SITE}/a"), (f"{TITLE} again", f"{SITE}/b")),
        ((TITLE, f"{SITE}/guides/payments/retries"), (TITLE, "https://docs.example.org/guides/payments/retries")),
        ((f"{TITLE}, part 2", f"{SITE}/a"), (f"{TITLE}, part 2", f"{SITE}/b")),
    ],
)
def test_the_same_page_twice_is_one(table: Table, one: tuple[str, str], other: tuple[str, str]) -> None:
    assert ids(table, one, other) == ["a"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((TITLE, f"{SITE}/a"), (TITLE, "https://elsewhere.net/posts/71")),
        ((TITLE, f"{SITE}/a"), ("How the stock service reserves an item", f"{SITE}/b")),
        ((f"{TITLE}, part 1", f"{SITE}/a"), (f"{TITLE}, part 2", f"{SITE}/b")),
        ((f"{TITLE} in version III", f"{SITE}/a"), (f"{TITLE} in version IV", f"{SITE}/b")),
        ((f"{TITLE} two times", f"{SITE}/a"), (f"{TITLE} three times", f"{SITE}/b")),
        ((f"{TITLE} in 2024", f"{SITE}/a"), (TITLE, f"{SITE}/b")),
        (("", f"{SITE}/a"), ("", f"{SITE}/b")),
        ((TITLE, ""), (TITLE, "")),
        ((TITLE, "docs/a.md"), (TITLE, "docs/a.md")),
        (("!?", f"{SITE}/a"), ("!?", f"{SITE}/b")),
    ],
)
def test_different_pages_stay_apart(table: Table, one: tuple[str, str], other: tuple[str, str]) -> None:
    assert ids(table, one, other) == ["a", "b"]


def test_the_best_stands_for_the_others(table: Table) -> None:
    pages = [evidence(name, f"text {name}", title=TITLE, url=f"{SITE}/{name}") for name in "abc"]
    pages[1].confidence = 0.85
    lanes = [findings("web", *pages), findings("news", pages[1], evidence("z"))]
    response = fuse(request(*lanes), table)
    best = response.results[0]
    assert best.document.id == "b"
    assert list(best.corroborated_by) == ["a", "c"]
    assert best.confidence == 1.0
    assert [result.document.id for result in response.results] == ["b", "z"]
    assert (response.report.received, response.report.distinct, response.report.merged) == (5, 4, 2)
    assert response.report.dedup_rate == 1 - 2 / 5
