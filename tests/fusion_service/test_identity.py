"""The same document seen twice is one document."""

from __future__ import annotations

from fusion_service.identity import distinct
from tests.fusion_service.samples import evidence, findings


def ids(*lanes: object) -> list[str]:
    return [found.id for found in distinct(lanes)]  # type: ignore[arg-type]


def test_same_id_is_one_document() -> None:
    (found,) = distinct([findings("web", evidence("a", "one")), findings("kg", evidence("a", "two words"))])
    assert found.ranks == {"web": 1, "kg": 1}
    assert found.best.content == "two words"


def test_same_page_under_two_addresses_is_one_document() -> None:
    one = evidence("a", url="https://www.x.org/p/?b=2&a=1&utm_source=mail#top")
    other = evidence("b", url="http://x.org/p?a=1&b=2")
    assert ids(findings("web", one), findings("news", other)) == ["a"]


def test_same_content_but_for_white_space_is_one_document() -> None:
    text = "The quick brown fox jumps over the lazy dog at noon"
    lanes = [findings("web", evidence("a", text)), findings("kg", evidence("b", text.replace(" ", "\n ") + "\n"))]
    assert ids(*lanes) == ["b"]


def test_same_opening_is_not_the_same_content() -> None:
    opening = "one two three four five six seven eight nine "
    lanes = [findings("web", *(evidence(name, opening + name) for name in "abc"), evidence("d", opening + "a"))]
    assert ids(*lanes) == ["a", "b", "c"]


def test_identity_is_transitive_over_different_keys() -> None:
    one = evidence("a", "first text")
    bridge = evidence("a", "other text", url="https://x.org/1")
    other = evidence("z", "third text", url="http://x.org/1/")
    (found,) = distinct([findings("web", one, evidence("q", "else")), findings("kg", other), findings("news", bridge)])[
        :1
    ]
    assert found.ranks == {"web": 1, "kg": 1, "news": 1}


def test_empty_fields_never_match() -> None:
    blank = [evidence("", " \n", title="t"), evidence("", "", title="t"), evidence("", "", url="docs/a.md")]
    assert len(distinct([findings("web", *blank), findings("kg", evidence("", "", url="docs/a.md"))])) == 4


def test_a_finding_that_says_nothing_is_none() -> None:
    assert distinct([findings("web", evidence(), evidence("a"))])[0].ranks == {"web": 1}


def test_a_document_listed_twice_counts_once_at_its_best_rank() -> None:
    listed = [evidence("a"), evidence("b"), evidence("a"), evidence("c")]
    assert [found.ranks["web"] for found in distinct([findings("web", *listed)])] == [1, 2, 3]


def test_ranks_count_documents_that_another_lane_shows_to_be_one() -> None:
    web = findings("web", evidence("a", url="https://x.org/1"), evidence("b"), evidence("c"))
    kg = findings("kg", evidence("b", url="https://x.org/1"))
    assert {found.id: found.ranks for found in distinct([web, kg])} == {"a": {"web": 1, "kg": 1}, "c": {"web": 2}}


def test_real_evidence_stands_for_simulated() -> None:
    simulated = evidence("a", "a much longer text")
    simulated.simulated = True
    (found,) = distinct([findings("web", simulated), findings("kg", evidence("a", "short"))])
    assert found.best.lane == "kg"


def test_a_document_without_an_id_takes_another_sighting_s_or_derives_one() -> None:
    lanes = [findings("web", evidence("", "same words here, longer", url="https://x.org/1"))]
    derived = ids(*lanes)
    assert derived[0].startswith("sha256:")
    assert derived == ids(*lanes)
    assert ids(*lanes, findings("kg", evidence("k", url="https://x.org/1"))) == ["k"]
