"""The answer as one text."""

from __future__ import annotations

from lanemesh.v1.fusion_pb2 import Citation, MarkerStyle, Sentence

from fusion_service.answer import answer_text

FILE = Citation(marker=1, label="local:a#L1-L2")
SENTENCES = [
    Sentence(text="One.", group="local", citations=[FILE, Citation(marker=2, label="graph:B")]),
    Sentence(text="Two", group="local"),
    Sentence(text="Three!", group="similar", citations=[FILE]),
]


def test_numbers_are_the_default() -> None:
    text = "One. [1][2] Two.\n\nThree! [1]"
    assert answer_text(SENTENCES, MarkerStyle.MARKER_STYLE_NUMBER) == text
    assert answer_text(SENTENCES, MarkerStyle.MARKER_STYLE_UNSPECIFIED) == text


def test_lane_labels() -> None:
    expected = "One. [local:a#L1-L2][graph:B] Two.\n\nThree! [local:a#L1-L2]"
    assert answer_text(SENTENCES, MarkerStyle.MARKER_STYLE_LANE) == expected


def test_no_markers() -> None:
    assert answer_text(SENTENCES, MarkerStyle.MARKER_STYLE_NONE) == "One. Two.\n\nThree!"


def test_nothing() -> None:
    assert answer_text([], MarkerStyle.MARKER_STYLE_NUMBER) == ""
